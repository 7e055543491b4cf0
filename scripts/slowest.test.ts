/** Tests the report about the slow files of a run. */
import { expect, it } from 'vitest'
import { slowest } from './slowest.ts'

const timed = (count: number, seconds: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `n${index}`, ms: seconds * 1000 + index }))

it('the reporter lists the ten slowest files and tests of a long run, the slowest first', () => {
  const lines = slowest(timed(12, 5), timed(30, 1))
  expect(lines).toHaveLength(22)
  expect(lines[0]).toBe('Slowest of 12 files:')
  expect(lines[1]).toMatch(/ 5\.0 s {2}n11$/)
  expect(lines.slice(1, 11).join()).not.toContain('n1\n')
  expect(lines.at(-1)).toMatch(/ 1\.0 s {2}n20$/)
})

it('the reporter prints nothing for a short run', () => {
  expect(slowest(timed(12, 4.9), timed(30, 1))).toEqual([])
})
