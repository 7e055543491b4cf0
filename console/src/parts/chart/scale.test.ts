import { expect, test } from 'vitest'
import {
  createScale,
  labelledPoints,
  nearestPoint,
  type Series,
  timeLabel,
  xOf,
  yOf,
} from './scale.ts'

const series: readonly Series[] = [
  { name: 'Delivered', values: [10, 40, 30], tone: 1 },
  { name: 'Failed', values: [0, 12, 3], tone: 2 },
]

test('a chart ends the axis at a round number above all values', () => {
  expect(createScale('lines', series, 3, 400, 190).top).toBe(40)
  expect(createScale('bars', series, 3, 400, 190).top).toBe(60)
  expect(createScale('lines', [], 0, 400, 190).top).toBe(2)
})

test('a chart of counts has whole numbers at the top and at the half of the axis', () => {
  for (let count = 1; count <= 1_000; count += 1) {
    const { top } = createScale(
      'lines',
      [{ name: 'Counts', values: [count], tone: 1 }],
      1,
      400,
      190,
    )
    expect(top).toBeGreaterThanOrEqual(count)
    expect(top / 2).toBe(Math.floor(top / 2))
  }
})

test('a chart finds the point under the pointer', () => {
  for (const kind of ['lines', 'bars'] as const) {
    const scale = createScale(kind, series, 3, 400, 190)
    for (const at of [0, 1, 2]) expect(nearestPoint(scale, xOf(scale, at))).toBe(at)
  }
})

test('a chart draws zero at the bottom and the highest value at the top', () => {
  const scale = createScale('lines', series, 3, 400, 190)
  expect(yOf(scale, 0)).toBe(168)
  expect(yOf(scale, scale.top)).toBe(8)
})

test('a chart labels only as many points as fit', () => {
  const long = createScale('lines', series, 24, 400, 190)
  expect(labelledPoints(long)).toEqual([0, 6, 12, 18])
})

test('a chart labels days by their date, also when the clocks change', () => {
  const days = ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z', '2026-03-30T22:00:00.000Z']
  const hours = ['2026-03-28T22:00:00.000Z', '2026-03-28T23:00:00.000Z']
  expect(timeLabel(days[1] ?? '', days)).not.toContain(':')
  expect(timeLabel(hours[1] ?? '', hours)).toContain(':')
})
