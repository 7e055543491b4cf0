import { describe, expect, it } from 'vitest'
import { isMet, perSecond, tableOf } from './table.ts'

describe('the table of results', () => {
  it('counts an aim as met if the ratio equals the minimum or the maximum', () => {
    expect(isMet({ ratio: 0.6, aim: { atLeast: 0.6 } })).toBe(true)
    expect(isMet({ ratio: 0.59, aim: { atLeast: 0.6 } })).toBe(false)
    expect(isMet({ ratio: 1.5, aim: { atMost: 1.5 } })).toBe(true)
    expect(isMet({ ratio: 1.51, aim: { atMost: 1.5 } })).toBe(false)
  })

  it('prints one line per scenario in columns of equal width', () => {
    const table = tableOf([
      { name: 'profile', ours: '9/s', limit: '10/s', ratio: 0.9, aim: { atLeast: 0.6 } },
      { name: 'start', ours: '2.00 s', limit: '1.5 s', ratio: 1.333, aim: { atMost: 1 } },
    ])
    const lines = table.split('\n')
    expect(lines).toHaveLength(4)
    expect(new Set(lines.map((line) => line.length)).size).toBe(1)
    expect(lines[2]).toMatch(/^\| profile +\| 9\/s +\| 10\/s +\| 0\.90 +\| ≥ 0\.6 +\| met +\|$/)
    expect(lines[3]).toMatch(/\| 1\.33 +\| ≤ 1 +\| MISSED \|$/)
  })

  it('writes rates with meaningful digits only', () => {
    expect(perSecond(12345.6)).toBe('12,346/s')
    expect(perSecond(87.26)).toBe('87.3/s')
  })
})
