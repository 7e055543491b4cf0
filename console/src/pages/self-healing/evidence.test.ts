import { describe, expect, test } from 'vitest'
import { evidenceLines } from './evidence.ts'

const lines = (measured: Record<string, unknown>, expected = {}, people = {}) =>
  evidenceLines({ measured, expected, people })

describe('the evidence of a finding', () => {
  test('names each field once, with the value found and the value expected', () => {
    const measured = { role: 'nurse', is_active: false, open_jobs: 1200, head_of: [] }
    const expected = { role: 'doctor', since: null }
    expect(lines(measured, expected)).toEqual([
      { field: 'role', measured: 'nurse', expected: 'doctor' },
      { field: 'is active', measured: 'no', expected: 'no requirement' },
      { field: 'open jobs', measured: '1,200', expected: 'no requirement' },
      { field: 'head of', measured: 'none', expected: 'no requirement' },
      { field: 'since', measured: 'not measured', expected: 'none' },
    ])
  })

  test('names people, and marks the id of a person whose name is unknown', () => {
    const measured = { head_doctor_id: 3456 }
    expect(lines(measured, { head_doctor_id: null }, { head_doctor_id: 'Nora Nurse' })).toEqual([
      { field: 'head doctor', measured: 'Nora Nurse', expected: 'nobody' },
    ])
    expect(lines(measured)[0]?.measured).toBe('id 3456')
  })

  test('shows times in words, and unknown structures as they are', () => {
    const [at, other] = lines({ at: '2026-11-20T10:00:00.000Z', other: { a: 1 } })
    expect(at?.measured).toContain('20 Nov 2026')
    expect(other?.measured).toBe('{"a":1}')
  })
})
