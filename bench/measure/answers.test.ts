import { describe, expect, it } from 'vitest'
import { type Answers, count, othersThan, shown } from './answers.ts'

describe('the responses to many calls', () => {
  it('are counted by status, and calls without a response separately', () => {
    const answers: Answers = {}
    for (const status of [503, 200, 503, 'none'] as const) count(answers, status)
    expect(answers).toEqual({ '200': 1, '503': 2, none: 1 })
  })

  it('are unexpected if their status is not allowed or no response arrived', () => {
    const answers = { '200': 5, '429': 7, '500': 2, none: 3 }
    expect(othersThan(answers, (status) => status < 500)).toBe(5)
    expect(othersThan({ '200': 5 }, (status) => status === 200)).toBe(0)
  })

  it('are printed by status', () => {
    expect(shown({ none: 1, '429': 1300, '200': 12 })).toBe('200: 12, 429: 1,300, none: 1')
    expect(shown({})).toBe('no answers')
  })
})
