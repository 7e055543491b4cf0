import { describe, expect, test } from 'vitest'
import { heartbeatMs, idlePhase, latestActivity } from './idle.ts'

const LIMIT = 15 * 60_000
const START = Date.parse('2026-11-21T08:30:00Z')
const after = (seconds: number) => idlePhase(START + seconds * 1000, START, LIMIT)

describe('the idle phase of a session', () => {
  test('is "active" until a minute before the limit', () => {
    expect(after(0)).toEqual({ phase: 'active', checkInMs: 14 * 60_000 })
    expect(after(839)).toEqual({ phase: 'active', checkInMs: 1000 })
  })

  test('counts down during the last minute before the limit', () => {
    expect(after(840)).toEqual({ phase: 'warning', secondsLeft: 60 })
    expect(after(899.5)).toEqual({ phase: 'warning', secondsLeft: 1 })
  })

  test('is over at the limit, and after the computer slept for a night', () => {
    expect(after(900)).toEqual({ phase: 'over' })
    expect(after(36_000)).toEqual({ phase: 'over' })
  })

  test('is "active" after the clock was set back', () => {
    expect(after(-7200)).toEqual({ phase: 'active', checkInMs: 14 * 60_000 })
  })
})

test('the idle timer reports activity every minute, or four times within a short limit', () => {
  expect(heartbeatMs(LIMIT)).toBe(60_000)
  expect(heartbeatMs(120_000)).toBe(30_000)
})

test.each([
  [100, 150, 150],
  [150, 100, 150],
  [100, 900, 200],
])(
  'the idle timer returns the later of the last activities %i and %i, but no time in the future',
  (own, stored, latest) => {
    expect(latestActivity(own, stored, 200)).toBe(latest)
  },
)
