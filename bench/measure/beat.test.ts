import { describe, expect, it } from 'vitest'
import { atABeat } from './beat.ts'

describe('calls at a fixed rate', () => {
  it('start even while the previous call is still running, and all calls are awaited', async () => {
    const held: (() => void)[] = []
    const beat = await atABeat(1, 0.02, (turn) => {
      const answer = new Promise<number>((resolve) => held.push(() => resolve(200)))
      if (turn === 19) for (const release of held) release()
      return answer
    })
    expect(held).toHaveLength(20)
    expect(beat.ms).toHaveLength(20)
    expect(beat.answers).toEqual({ '200': 20 })
  })

  it('are measured from their scheduled time, so the first call of an outage takes longest', async () => {
    const held: (() => void)[] = []
    const { ms } = await atABeat(5, 0.05, () => {
      const answer = new Promise<number>((resolve) => held.push(() => resolve(200)))
      if (held.length === 10) for (const release of held) release()
      return answer
    })
    expect(ms.toSorted((a, b) => b - a)).toEqual(ms)
  })

  it('count failed calls as missing responses', async () => {
    const { answers } = await atABeat(1, 0.004, async (turn) => {
      if (turn % 2 === 0) throw new Error('reset')
      return 503
    })
    expect(answers).toEqual({ '503': 2, none: 2 })
  })
})
