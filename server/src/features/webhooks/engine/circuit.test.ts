/** Tests how successes and failures of a receiver change its concurrency and its pauses. */
import { describe, expect, test } from 'vitest'
import { DAY, HOUR, MINUTE, SECOND } from '../../../lib/clock.ts'
import { afterFailure, afterSuccess, type Circuit, slotsNow } from './circuit.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const MIDDLE = () => 0.5
const WELL: Circuit = {
  failures: 0,
  share: 0,
  failing_since: null,
  failedAt: 0,
  slots: 4,
  pausedUntil: 0,
}

const answered = (status_code: number | null, retry_after: string | null = null) => ({
  status_code,
  retry_after,
})

/** Returns the result of `afterFailure` for one failed attempt. */
const failed = (circuit: Circuit, now = NOW, attempt = answered(500)) =>
  afterFailure(circuit, attempt, now, MIDDLE)

/**
 * Simulates `times` failures, each as soon as the previous pause has ended. Returns the circuit and time of each
 * failure.
 */
function failing(times: number, attempt = answered(500)): { circuit: Circuit; at: number }[] {
  const steps: { circuit: Circuit; at: number }[] = []
  let circuit = WELL
  let at = NOW
  for (let count = 0; count < times; count += 1) {
    circuit = failed(circuit, at, attempt).circuit
    steps.push({ circuit, at })
    at = Math.max(at, circuit.pausedUntil)
  }
  return steps
}

const pauses = (steps: { circuit: Circuit; at: number }[]) =>
  steps.map(({ circuit, at }) => Math.max(0, circuit.pausedUntil - at))

describe('a healthy receiver', () => {
  test('gets one more concurrency slot after each round without a failure, up to sixteen', () => {
    let circuit: Circuit = { ...WELL, slots: 1 }
    const slots: number[] = []
    // A round consists of as many successes as there are slots.
    for (let round = 0; round < 20; round += 1) {
      const size = Math.floor(circuit.slots)
      for (let count = 0; count < size; count += 1) circuit = afterSuccess(circuit, NOW)
      slots.push(Math.floor(circuit.slots + 1e-9))
    }
    expect(slots.slice(0, 4)).toEqual([2, 3, 4, 5])
    expect(slots.at(-1)).toBe(16)
    expect(Math.max(...slots)).toBe(16)
  })

  test('has its failure count reset by a success', () => {
    const sick = {
      ...WELL,
      failures: 3,
      failing_since: new Date(NOW).toISOString(),
      failedAt: NOW,
      slots: 2,
      pausedUntil: 5,
    }
    expect(afterSuccess(sick, NOW)).toEqual({ ...WELL, slots: 2.5, share: expect.any(Number) })
  })

  test('stays paused as requested when a message that was sent earlier succeeds', () => {
    const paused = failed(WELL, NOW, answered(429, '60')).circuit
    expect(afterSuccess(paused, NOW + SECOND)).toMatchObject({
      failures: 0,
      failing_since: null,
      pausedUntil: NOW + MINUTE,
    })
  })
})

describe('a failing receiver', () => {
  test('keeps the time of its first failure', () => {
    const first = failed(WELL).circuit
    const second = failed(first, NOW + HOUR).circuit
    expect(first.failing_since).toBe('2026-11-20T12:00:00.000Z')
    expect(second).toMatchObject({ failures: 2, failing_since: '2026-11-20T12:00:00.000Z' })
  })

  test('keeps its concurrency after four failures in a row', () => {
    expect(failing(4).at(-1)?.circuit).toMatchObject({ failures: 4, slots: 4, pausedUntil: 0 })
  })

  test('is sent fewer messages at a time from the third failure in a row', () => {
    const sixteen = { ...WELL, slots: 16 }
    const now = [0, 1, 2, 3, 4].map((failures) => slotsNow({ ...sixteen, failures }))
    expect(now).toEqual([16, 16, 16, 8, 4])
    expect(slotsNow({ ...WELL, slots: 1.9, failures: 4 })).toBe(1)
  })

  test('gets one test message at a time after five failures, with pauses that double up to five minutes', () => {
    const steps = failing(14)
    expect(steps.slice(4).every(({ circuit }) => circuit.slots === 1)).toBe(true)
    expect(pauses(steps).map((ms) => ms / SECOND)).toEqual([
      0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300, 300,
    ])
  })

  test('has jittered pauses, so that receivers do not resume simultaneously', () => {
    const sick = failing(4).at(-1)?.circuit ?? WELL
    const ends = [0, 0.5, 0.99].map(
      (value) => afterFailure(sick, answered(null), NOW, () => value).circuit.pausedUntil - NOW,
    )
    expect(ends[0]).toBe(4.5 * SECOND)
    expect(ends[2]).toBeGreaterThan(5.4 * SECOND)
  })

  test('has failures ignored if their messages were sent before the pause', () => {
    const broken = failing(5).at(-1)?.circuit ?? WELL
    let circuit = broken
    for (let count = 0; count < 15; count += 1) circuit = failed(circuit, NOW + SECOND).circuit
    expect(circuit).toEqual({ ...broken, failedAt: NOW + SECOND })
  })
})

describe('a receiver that responds with 429', () => {
  test('has its concurrency halved after each response, down to one message', () => {
    const slots = failing(4, answered(429)).map(({ circuit }) => circuit.slots)
    expect(slots).toEqual([2, 1, 1, 1])
  })

  test('is paused for one second, and twice as long after each further 429', () => {
    const seconds = pauses(failing(4, answered(429))).map((ms) => ms / SECOND)
    expect(seconds).toEqual([1, 2, 4, 8])
  })
})

test.each([502, 503, 504])(
  'the circuit breaker treats one response %i like any other failure',
  (status) => {
    expect(failed(WELL, NOW, answered(status))).toEqual(failed(WELL))
  },
)

describe('a receiver that asks for a pause', () => {
  test.each([[429], [500], [503]])(
    'is paused for the requested time after the status %i',
    (status) => {
      const { circuit } = failed(WELL, NOW, answered(status, '90'))
      expect(circuit.pausedUntil).toBe(NOW + 90 * SECOND)
    },
  )

  test('is paused for at most an hour, even if it asks for more', () => {
    expect(failed(WELL, NOW, answered(429, '86400')).circuit.pausedUntil).toBe(NOW + HOUR)
  })

  test('is paused longer than requested if its failures require a longer pause', () => {
    const sick = failing(9).at(-1)?.circuit ?? WELL
    const later = sick.pausedUntil
    expect(failed(sick, later, answered(500, '1')).circuit.pausedUntil).toBe(later + 160 * SECOND)
  })
})

describe('the reason to deactivate a webhook', () => {
  test('is "gone" as soon as the receiver responds with 410', () => {
    expect(failed(WELL, NOW, answered(410)).disable).toBe('gone')
  })

  test('is "gone" after a 410 response even during a pause', () => {
    const paused = failed(WELL, NOW, answered(429, '60')).circuit
    expect(failed(paused, NOW + SECOND, answered(410)).disable).toBe('gone')
  })

  test('is "failing" after five days of failures, and not before', () => {
    const sick = { ...WELL, failures: 40, failing_since: new Date(NOW).toISOString() }
    expect(failed(sick, NOW + 5 * DAY - 1).disable).toBeUndefined()
    expect(failed(sick, NOW + 5 * DAY).disable).toBe('failing')
  })

  test('is absent if a success interrupts the five days of failures', () => {
    const sick = { ...WELL, failures: 40, failing_since: new Date(NOW).toISOString() }
    const cured = afterSuccess(sick, NOW + 4 * DAY)
    expect(failed(cured, NOW + 6 * DAY).disable).toBeUndefined()
  })

  test.each([400, 404, 500, null])('is absent after a single failure (%j)', (status) => {
    expect(failed(WELL, NOW, answered(status)).disable).toBeUndefined()
  })
})

describe('a receiver that rarely gets messages', () => {
  test('is not deactivated because of a failure 20 days ago', () => {
    const once = failed(WELL).circuit
    const { circuit, disable } = failed(once, NOW + 20 * DAY)
    expect(disable).toBeUndefined()
    expect(circuit).toMatchObject({
      failures: 1,
      failing_since: new Date(NOW + 20 * DAY).toISOString(),
    })
  })

  test('is deactivated if an attempt has failed on each of five days', () => {
    let circuit = failed(WELL).circuit
    for (let day = 1; day < 5; day += 1) {
      const next = failed(circuit, NOW + day * DAY)
      expect(next.disable).toBeUndefined()
      circuit = next.circuit
    }
    expect(failed(circuit, NOW + 5 * DAY).disable).toBe('failing')
  })
})
