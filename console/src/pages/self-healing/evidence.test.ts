import { describe, expect, test } from 'vitest'
import { evidenceLines } from './evidence.ts'

describe('the evidence of a finding', () => {
  test('names each field once, with the value found and the value expected', () => {
    const measured = { role: 'nurse', is_active: false, open_jobs: 1200, head_of: [] }
    const expected = { role: 'doctor', since: null }
    expect(evidenceLines(measured, expected)).toEqual([
      { field: 'role', measured: 'nurse', expected: 'doctor' },
      { field: 'is active', measured: 'no', expected: '' },
      { field: 'open jobs', measured: '1,200', expected: '' },
      { field: 'head of', measured: 'none', expected: '' },
      { field: 'since', measured: '', expected: 'none' },
    ])
  })

  test('shows times in words, and unknown structures as they are', () => {
    const [at, other] = evidenceLines({ at: '2026-11-20T10:00:00.000Z', other: { a: 1 } }, {})
    expect(at?.measured).toContain('20 Nov 2026')
    expect(other?.measured).toBe('{"a":1}')
  })
})
