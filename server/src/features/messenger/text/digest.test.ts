/** Tests how waiting events are combined into one message, the digest. */

import { describe, expect, test } from 'vitest'
import { fc } from '../../../../test/support/properties.ts'
import { type DigestLine, digestOf, MAX_LINES, MAX_UNITS } from './digest.ts'

function waiting(actions: readonly string[], length = 40): DigestLine {
  const counts = new Map<string, number>()
  for (const action of actions) counts.set(action, (counts.get(action) ?? 0) + 1)
  const lines = actions.map((_, index) => `${index}:`.padEnd(length, 'x'))
  return { lines: lines.slice(0, MAX_LINES), actions: actions.slice(0, MAX_LINES), counts }
}

const many = (action: string, count: number) => Array.from({ length: count }, () => action)

describe('a digest', () => {
  test('is a single line for a single event', () => {
    expect(digestOf(waiting(['user.created'], 10))).toBe('0:xxxxxxxx')
  })

  test('has a line for each of up to twenty events', () => {
    const text = digestOf(waiting(many('user.created', 20)))
    expect(text.split('\n')).toHaveLength(20)
    expect(text).not.toContain('more')
  })

  test('has twenty lines, followed by the number of other events for each action', () => {
    const text = digestOf(waiting(many('user.created', 5000))).split('\n')
    expect(text).toHaveLength(21)
    expect(text.at(-1)).toBe('and 4,980 more: 4,980 users created')
  })

  test('lists the counts of the most frequent actions first', () => {
    const actions = [
      ...many('user.created', 20),
      ...many('user.deleted', 2),
      'auth.login',
      ...many('user.blocked', 7),
    ]
    expect(digestOf(waiting(actions)).split('\n').at(-1)).toBe(
      'and 10 more: 7 users blocked, 2 users deleted, 1 sign-in',
    )
  })

  test('contains only numbers of events if no event has a line', () => {
    expect(digestOf({ lines: [], actions: [], counts: new Map([['auth.login', 3]]) })).toBe(
      '3 events: 3 sign-ins',
    )
  })

  test('has at most twenty lines and 4,096 UTF-16 units, and counts all other events', () => {
    const anAction = fc.oneof(
      fc.constantFrom('user.created', 'auth.login', 'auth.totp_disabled'),
      fc.string({ minLength: 1, maxLength: 30 }).map((name) => `group.${name}`),
    )
    fc.assert(
      fc.property(
        fc.array(anAction, { minLength: 1, maxLength: 300 }),
        fc.integer({ min: 10, max: 700 }),
        (actions, length) => {
          const text = digestOf(waiting(actions, length))
          expect(text.length).toBeLessThanOrEqual(MAX_UNITS)
          const lines = text.split('\n').filter((line) => /^\d+:x/.test(line))
          expect(lines.length).toBeLessThanOrEqual(MAX_LINES)
          const more = /^and ([\d,]+) more/m.exec(text) ?? /^([\d,]+) events?:/.exec(text)
          const counted = Number((more?.[1] ?? '0').replaceAll(',', ''))
          expect(lines.length + counted).toBe(actions.length)
        },
      ),
    )
  })
})
