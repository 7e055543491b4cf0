import { expect, test } from 'vitest'
import { DAY, HOUR } from '../../lib/clock.ts'
import { type Bucket, bucketBounds, isTimeZone } from './buckets.ts'

const bounds = (bucket: Bucket, from: string, to: string, timeZone: string) =>
  bucketBounds({ bucket, timeZone, from: Date.parse(from), to: Date.parse(to) })
const isos = (times: readonly number[]) => times.map((time) => new Date(time).toISOString())
const lengths = (times: readonly number[]) =>
  times.slice(1).map((time, n) => (time - (times[n] ?? 0)) / HOUR)

test('a period of days begins and ends at midnight of the time zone', () => {
  const days = bounds('day', '2026-11-20T12:00:00Z', '2026-11-21T23:30:00Z', 'Europe/Berlin')
  expect(isos(days)).toEqual([
    '2026-11-19T23:00:00.000Z',
    '2026-11-20T23:00:00.000Z',
    '2026-11-21T23:00:00.000Z',
    '2026-11-22T23:00:00.000Z',
  ])
})

test('a period excludes the bucket that begins at its end', () => {
  const days = bounds('day', '2026-11-20T00:00:00Z', '2026-11-22T00:00:00Z', 'UTC')
  expect(lengths(days)).toEqual([24, 24])
  const hours = bounds('hour', '2026-11-20T00:00:00Z', '2026-11-20T02:00:00Z', 'UTC')
  expect(lengths(hours)).toEqual([1, 1])
})

test.each([
  ['spring', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z', 'Europe/Berlin', [24, 23, 24]],
  ['autumn', '2026-10-24T12:00:00Z', '2026-10-26T12:00:00Z', 'Europe/Berlin', [24, 25, 24]],
  ['half an hour', '2026-04-04T14:00:00Z', '2026-04-04T15:00:00Z', 'Australia/Lord_Howe', [24.5]],
  // The clocks of Cairo skip midnight.
  ['midnight', '2026-04-23T10:00:00Z', '2026-04-24T23:00:00Z', 'Africa/Cairo', [24, 23, 24]],
])('a day is shorter or longer when the clocks change: %s', (_, from, to, zone, expected) => {
  expect(lengths(bounds('day', from, to, zone))).toEqual(expected)
})

test('a day that a time zone skipped has no bucket', () => {
  const days = bounds('day', '2011-12-29T12:00:00Z', '2011-12-31T12:00:00Z', 'Pacific/Apia')
  expect(isos(days)).toEqual([
    '2011-12-29T10:00:00.000Z',
    '2011-12-30T10:00:00.000Z',
    '2011-12-31T10:00:00.000Z',
    '2012-01-01T10:00:00.000Z',
  ])
})

test('hours begin at the full hours of the time zone', () => {
  const hours = bounds('hour', '2026-11-20T12:10:00Z', '2026-11-20T13:20:00Z', 'Asia/Kathmandu')
  expect(isos(hours)).toEqual([
    '2026-11-20T11:15:00.000Z',
    '2026-11-20T12:15:00.000Z',
    '2026-11-20T13:15:00.000Z',
    '2026-11-20T14:15:00.000Z',
  ])
})

test.each(['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Chatham'])(
  'all days of 400 days in %s are adjacent and aligned to quarters of an hour',
  (zone) => {
    const days = bounds('day', '2026-01-01T00:00:00Z', '2027-02-04T00:00:00Z', zone)
    expect(days.length).toBeGreaterThanOrEqual(400)
    for (const [n, day] of days.entries()) {
      expect(day % (HOUR / 4)).toBe(0)
      if (n > 0) expect(Math.abs(day - (days[n - 1] ?? 0) - DAY)).toBeLessThanOrEqual(HOUR)
    }
  },
)

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Europe/Nowhere', false],
  ['+02:00', false],
  ['', false],
  ["UTC'; drop table stats", false],
])('the time zone %s is known: %s', (name, isKnown) => {
  expect(isTimeZone(name)).toBe(isKnown)
})
