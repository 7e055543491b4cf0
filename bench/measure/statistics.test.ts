import { describe, expect, it } from 'vitest'
import { median, outcomeOf, percentile } from './statistics.ts'

describe('the statistics functions', () => {
  it('return the middle value of an odd number of values, in any order', () => {
    expect(median([9, 1, 100])).toBe(9)
  })

  it('return the mean of the two middle values of an even number of values', () => {
    expect(median([4, 1, 2, 100])).toBe(3)
  })

  it('sort values as numbers, not as text', () => {
    expect(median([10, 9, 100])).toBe(10)
  })

  it('do not change the order of the given values', () => {
    const values = [3, 1, 2]
    median(values)
    expect(values).toEqual([3, 1, 2])
  })

  it('return no median for an empty list', () => {
    expect(() => median([])).toThrow(RangeError)
  })

  it('find the value that a given share of the values does not exceed', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index)
    expect(percentile(values, 0.5)).toBe(100)
    expect(percentile(values, 0.99)).toBe(198)
    expect(percentile(values, 1)).toBe(200)
    expect(percentile([7], 0.5)).toBe(7)
    expect(() => percentile([], 0.5)).toThrow(RangeError)
  })

  it('compare measurements of the same round, so that one slow round barely changes the result', () => {
    const rounds = [
      { ours: 60, baseline: 100 },
      { ours: 6, baseline: 10 },
      { ours: 66, baseline: 100 },
    ]
    expect(outcomeOf(rounds)).toEqual({ ours: 60, baseline: 100, ratio: 0.6 })
  })

  it('reject a round in which the baseline completed no call', () => {
    const rounds = [
      { ours: 60, baseline: 100 },
      { ours: 60, baseline: 0 },
    ]
    expect(() => outcomeOf(rounds)).toThrow('nothing done')
  })
})
