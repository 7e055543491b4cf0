import { expect, test } from 'vitest'
import { parseTopic } from './topics.ts'

test.each([
  ['journal', 'journal', undefined, undefined],
  ['user:5', 'user', '5', 5],
  ['session:4f6d:x', 'session', '4f6d:x', undefined],
  ['user:5x', 'user', '5x', undefined],
  ['user:', 'user', '', undefined],
  ['', '', undefined, undefined],
])('a node parses the topic "%s" as kind "%s" with id %s', (topic, kind, id, number) => {
  expect(parseTopic(topic)).toEqual({ kind, id, number })
})
