import { expect, test } from 'vitest'
import { boundsOf, hasWholeDays, parseTimeRange } from './time-ranges.ts'

const now = new Date('2026-11-27T12:00:00Z')

test.each([
  {},
  { range: 'toString' },
  { range: 7 },
  { from: '2026-11-01T00:00:00Z' },
  { from: 'yesterday', to: 'today' },
  { from: '2026-13-45', to: '2026-11-01' },
])('the choice of a time range falls back to the default for the malformed range %o', (search) => {
  expect(parseTimeRange(search, '24h')).toEqual({ range: '24h' })
})

test('the choice of a time range keeps both ends of a custom range', () => {
  const search = { from: '2026-11-01', to: '2026-11-02T10:00:00Z', range: '7d' }
  const range = parseTimeRange(search, '24h')
  expect(range).toEqual({ from: '2026-11-01', to: '2026-11-02T10:00:00Z' })
  expect(hasWholeDays(range)).toBe(true)
  expect(boundsOf(range, now)).toEqual(range)
})

test('the choice of a time range ends a range such as "last 24 hours" at the current time', () => {
  expect(boundsOf({ range: '1h' }, now)).toEqual({
    from: '2026-11-27T11:00:00.000Z',
    to: '2026-11-27T12:00:00.000Z',
  })
})
