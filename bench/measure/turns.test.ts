import { describe, expect, it } from 'vitest'
import { byTurns, timesAsFast } from './turns.ts'

describe('scenarios that take turns', () => {
  it('run in the reverse order in every second round', async () => {
    const done: string[] = []
    const work = (name: string, seconds: number) => async () => {
      done.push(name)
      return seconds
    }
    const rounds = await byTurns({ ours: work('ours', 1), theirs: work('theirs', 2) }, 3)
    expect(done).toEqual(['ours', 'theirs', 'theirs', 'ours', 'ours', 'theirs'])
    expect(rounds).toEqual([1, 2, 3].map(() => ({ ours: 1, theirs: 2 })))
  })

  it('are compared by the median of the ratios, not by the ratio of the medians', () => {
    const rounds = [
      { ours: 1, theirs: 1 },
      { ours: 2, theirs: 8 },
      { ours: 10, theirs: 20 },
    ]
    expect(timesAsFast(rounds, 'ours', 'theirs')).toBe(2)
  })
})
