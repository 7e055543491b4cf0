import { expect, test } from 'vitest'
import { readStatsRange, seriesIn } from './stats.ts'

test.each([
  ['7d', '7d'],
  ['30d', '30d'],
  ['24h', '24h'],
  ['8d', '24h'],
  ['toString', '24h'],
  [7, '24h'],
  [undefined, '24h'],
])('the period %s in the URL shows %s', (value, range) => {
  expect(readStatsRange(value)).toBe(range)
})

test('a series that a response lacks is undefined', () => {
  const stats = {
    as_of: '2026-11-28T12:00:00.000Z',
    tenant_id: 1,
    bucket: 'day' as const,
    time_zone: 'UTC',
    buckets: [],
    series: [{ name: 'changes' as const, total: 0, values: [], durations: null }],
  }
  expect(seriesIn(stats, 'changes')?.total).toBe(0)
  expect(seriesIn(stats, 'sign_ins')).toBeUndefined()
})
