import { expect, test } from 'vitest'
import { readMessage } from './channel.ts'

test.each([
  { type: 'signed-in', tenant_id: 1, user_id: 7 },
  { type: 'signed-out' },
  { type: 'locked' },
  { type: 'theme', theme: 'dark' },
])('a browser tab accepts the message %j of another tab', (message) => {
  expect(readMessage(message)).toEqual(message)
})

test.each([
  null,
  'signed-out',
  {},
  { type: 'other' },
  { type: 'signed-in', user_id: 7 },
  { type: 'signed-in', tenant_id: '1', user_id: 7 },
  { type: 'theme', theme: 'url(x)' },
  { type: 'theme' },
])('a browser tab ignores the invalid message %j of another tab', (data) => {
  expect(readMessage(data)).toBeUndefined()
})
