import { expect, test } from 'vitest'
import { DAY, isoAt } from './clock.ts'

const clock = { now: () => Date.UTC(2026, 1, 28, 12) }

test('isoAt() writes the time in UTC with milliseconds', () => {
  expect(isoAt(clock)).toBe('2026-02-28T12:00:00.000Z')
})

test('isoAt() applies a positive or negative offset', () => {
  expect(isoAt(clock, DAY + 1)).toBe('2026-03-01T12:00:00.001Z')
  expect(isoAt(clock, -DAY)).toBe('2026-02-27T12:00:00.000Z')
})
