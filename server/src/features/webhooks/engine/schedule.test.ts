/** When a failed delivery is tried again, by the specification's list and by the receiver's wish. */
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { jittered, nextTry, RETRY_WAITS, retryAfterOf } from './schedule.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const LEAST = () => 0
const MIDDLE = () => 0.5
/** As near to 1 as `Math.random` comes. */
const MOST = () => 1 - Number.EPSILON

describe('a delivery that has failed', () => {
  test.each([
    [1, 5 * SECOND],
    [2, 5 * MINUTE],
    [3, 30 * MINUTE],
    [4, 2 * HOUR],
    [5, 5 * HOUR],
    [6, 10 * HOUR],
    [7, 14 * HOUR],
    [8, 20 * HOUR],
    [9, 24 * HOUR],
  ])('%i times is tried again after %i ms, a tenth more or less', (tries, wait) => {
    const waits = [LEAST, MIDDLE, MOST].map((random) => nextTry(NOW, tries, undefined, random))
    expect(waits).toEqual([NOW + 0.9 * wait, NOW + wait, NOW + 1.1 * wait])
  })

  test('ten times is given up, whatever its receiver asks for', () => {
    expect(RETRY_WAITS).toHaveLength(9)
    expect(nextTry(NOW, 10, undefined, MIDDLE)).toBeUndefined()
    expect(nextTry(NOW, 10, HOUR, MIDDLE)).toBeUndefined()
    expect(nextTry(NOW, 11, undefined, MIDDLE)).toBeUndefined()
  })

  test('waits for as long as the receiver asks, and up to a tenth longer', () => {
    const waits = [LEAST, MIDDLE, MOST].map((random) => nextTry(NOW, 1, MINUTE, random))
    expect(waits).toEqual([NOW + MINUTE, NOW + 1.05 * MINUTE, NOW + 1.1 * MINUTE])
  })

  test('is not tried earlier because the receiver asks for little', () => {
    for (const asked of [0, SECOND]) expect(nextTry(NOW, 4, asked, LEAST)).toBe(NOW + 1.8 * HOUR)
  })

  test('waits for a day at the most where the receiver asks for more', () => {
    expect(nextTry(NOW, 1, 400 * DAY, LEAST)).toBe(NOW + DAY)
    expect(nextTry(NOW, 1, Number.MAX_SAFE_INTEGER, MOST)).toBe(NOW + 1.1 * DAY)
  })
})

test('what failed together does not come back together', () => {
  const waits = Array.from({ length: 100 }, () => jittered(HOUR, Math.random))
  expect(new Set(waits).size).toBeGreaterThan(50)
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(0.9 * HOUR)
  expect(Math.max(...waits)).toBeLessThanOrEqual(1.1 * HOUR)
})

describe('Retry-After', () => {
  test.each([
    ['120', 2 * MINUTE],
    ['0', 0],
    ['  7 ', 7 * SECOND],
    ['999999999', 999_999_999 * SECOND],
  ])('of "%s" is in seconds', (header, wait) => {
    expect(retryAfterOf(header, NOW)).toBe(wait)
  })

  test.each([
    ['Fri, 20 Nov 2026 12:10:00 GMT', 10 * MINUTE],
    ['Friday, 20-Nov-26 12:10:00 GMT', 10 * MINUTE],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('of "%s" is a date, and no wait when it has passed', (header, wait) => {
    expect(retryAfterOf(header, NOW)).toBe(wait)
  })

  test.each([
    null,
    '',
    ' ',
    '-5',
    '1.5',
    '1e3',
    '0x10',
    '2 hours',
    'soon',
    'Fri, 99 Nov 2026 12:00:00 GMT',
    'Friday',
    '2026',
    '2026-11-20T13:00:00Z',
    '1'.repeat(10),
    '١٢',
    '120, 240',
  ])('of %j makes no sense, and is no wish', (header) => {
    const wait = retryAfterOf(header, NOW)
    // A four-digit number is a number of seconds and no year.
    expect(wait).toBe(header === '2026' ? 2026 * SECOND : undefined)
  })
})
