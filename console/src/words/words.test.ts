import { describe, expect, test } from 'vitest'
import { formatAgo, formatDuration } from './dates.ts'
import { formatBytes, formatCount, formatNumber } from './numbers.ts'
import { shortName } from './short-name.ts'
import { statusWord } from './statuses.ts'

describe('formatted times', () => {
  const now = new Date('2026-11-27T12:00:00Z')
  test.each([
    [10, 'just now'],
    [60, '1 min ago'],
    [3 * 3600 + 59 * 60, '3 h ago'],
    [6 * 86_400, '6 d ago'],
    [7 * 86_400, '20 Nov 2026'],
    [-30, 'in less than a minute'],
    [-120, 'in 2 min'],
  ])('show a time %d seconds ago as "%s"', (seconds, written) => {
    expect(formatAgo(new Date(now.getTime() - seconds * 1000), now)).toBe(written)
  })

  test('show durations in their largest unit', () => {
    expect([0, 59, 60, 7200, 90_000].map(formatDuration)).toEqual([
      '0 s',
      '59 s',
      '1 min',
      '2 h',
      '1 d',
    ])
  })
})

test('the console formats numbers, counts and sizes', () => {
  expect(formatNumber(41_200)).toBe('41,200')
  expect(formatCount(1, 'session', 'sessions')).toBe('1 session')
  expect(formatCount(0, 'session', 'sessions')).toBe('0 sessions')
  expect([0, 999, 1000, 1_230_000_000, 999_600].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1 kB',
    '1.2 GB',
    '1 MB',
  ])
})

test('the console shows an unknown state unchanged', () => {
  expect(statusWord('user', 'a_new_state')).toEqual({ tone: 'off', word: 'a_new_state' })
  expect(statusWord('user', 'constructor')).toEqual({ tone: 'off', word: 'constructor' })
})

describe('long names', () => {
  test.each([
    ['Nora Pfleger', 'Nora Pfleger'],
    ['W'.repeat(60), 'W'.repeat(60)],
    ['W'.repeat(61), `${'W'.repeat(59)}…`],
    ['👩'.repeat(200), `${'👩'.repeat(59)}…`],
  ])('%s is shortened to %s if it is too long', (name, short) => {
    expect(shortName(name)).toBe(short)
  })
})
