import { expect, test } from 'vitest'
import { onceEach } from './compile-once.ts'

test('a schema is compiled on first use, and only once for all schemas with the same content', () => {
  const compiled: object[] = []
  const compile = onceEach((schema) => compiled.push(schema))
  const first = compile({ type: 'object', properties: { id: { type: 'integer' } } })
  const same = compile({ type: 'object', properties: { id: { type: 'integer' } } })
  const other = compile({ type: 'object', properties: { id: { type: 'string' } } })
  expect(compiled).toEqual([])
  expect([first(), same(), other(), first()]).toEqual([1, 1, 2, 1])
  expect(compiled).toHaveLength(2)
})
