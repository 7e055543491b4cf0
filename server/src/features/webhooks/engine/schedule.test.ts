/** Tests when a failed delivery is retried, according to the retry schedule and the receiver's `Retry-After`. */
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { jittered, nextTry, RETRY_WAITS, retryAfterOf } from './schedule.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const LEAST = () => 0
const MIDDLE = () => 0.5
/** A value close to 1, the upper limit of `Math.random`. */
const MOST = () => 1 - Number.EPSILON

describe('a failed webhook delivery', () => {
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
  ])('is retried after failure %i with a wait of %i ms, varied by up to a tenth', (tries, wait) => {
    const waits = [LEAST, MIDDLE, MOST].map((random) => nextTry(NOW, tries, undefined, random))
    expect(waits).toEqual([NOW + 0.9 * wait, NOW + wait, NOW + 1.1 * wait])
  })

  test('is given up after ten failures, even if the receiver sends Retry-After', () => {
    expect(RETRY_WAITS).toHaveLength(9)
    expect(nextTry(NOW, 10, undefined, MIDDLE)).toBeUndefined()
    expect(nextTry(NOW, 10, HOUR, MIDDLE)).toBeUndefined()
    expect(nextTry(NOW, 11, undefined, MIDDLE)).toBeUndefined()
  })

  test('waits for the time in Retry-After, or up to a tenth longer', () => {
    const waits = [LEAST, MIDDLE, MOST].map((random) => nextTry(NOW, 1, MINUTE, random))
    expect(waits).toEqual([NOW + MINUTE, NOW + 1.05 * MINUTE, NOW + 1.1 * MINUTE])
  })

  test('is not retried earlier if Retry-After is shorter than the scheduled wait', () => {
    for (const asked of [0, SECOND]) expect(nextTry(NOW, 4, asked, LEAST)).toBe(NOW + 1.8 * HOUR)
  })

  test('waits for about a day if Retry-After is longer', () => {
    expect(nextTry(NOW, 1, 400 * DAY, LEAST)).toBe(NOW + DAY)
    expect(nextTry(NOW, 1, Number.MAX_SAFE_INTEGER, MOST)).toBe(NOW + 1.1 * DAY)
  })
})

test('the retry schedule spreads the retries of deliveries that failed simultaneously', () => {
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
  ])('reads "%s" as seconds', (header, wait) => {
    expect(retryAfterOf(header, NOW)).toBe(wait)
  })

  test.each([
    ['Fri, 20 Nov 2026 12:10:00 GMT', 10 * MINUTE],
    ['Friday, 20-Nov-26 12:10:00 GMT', 10 * MINUTE],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ])('reads "%s" as a date, and does not wait if the date has passed', (header, wait) => {
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
  ])('does not read %j as a date', (header) => {
    const wait = retryAfterOf(header, NOW)
    // A four-digit number means seconds, not a year.
    expect(wait).toBe(header === '2026' ? 2026 * SECOND : undefined)
  })
})
