/** Tests how an attempt changes its delivery, its receiver and its webhook. */
import { describe, expect, test } from 'vitest'
import { DAY, MINUTE, SECOND } from '../../../lib/clock.ts'
import type { Attempt } from '../sending/attempt.ts'
import type { Circuit } from './circuit.ts'
import { classifyAttempt } from './classify.ts'
import type { DueDelivery } from './deliveries.store.ts'

const NOW = Date.UTC(2026, 10, 20, 12)
const WELL: Circuit = {
  failures: 0,
  share: 0,
  failing_since: null,
  failedAt: 0,
  slots: 4,
  pausedUntil: 0,
}

function classified(fields: Partial<Attempt>, retry_step = 0, circuit = WELL) {
  const delivery = { id: 1, webhook_id: 2, attempts: retry_step, retry_step } as DueDelivery
  const attempt: Attempt = {
    started_at: new Date(NOW - SECOND).toISOString(),
    duration_ms: 1000,
    status_code: 200,
    error: null,
    detail: null,
    address: '127.0.0.1',
    response_body: '',
    retry_after: null,
    ...fields,
  }
  return classifyAttempt({ delivery, attempt, circuit, now: NOW, random: () => 0.5 })
}

const at = (ms: number) => new Date(NOW + ms).toISOString()
const REFUSED = { status_code: 500, error: 'status' } as const

describe('a delivery attempt', () => {
  test('ends its delivery if the receiver accepts the message', () => {
    const { outcome, circuit, disable } = classified({})
    expect(outcome).toMatchObject({ status: 'delivered', due_at: null })
    expect(circuit).toMatchObject({ failures: 0, slots: 4.25 })
    expect(disable).toBeUndefined()
  })

  test('delays the next attempt longer after each failure', () => {
    expect(classified(REFUSED).outcome).toMatchObject({ status: 'pending', due_at: at(5 * SECOND) })
    expect(classified(REFUSED, 1).outcome).toMatchObject({ due_at: at(5 * MINUTE) })
    expect(classified(REFUSED, 8).outcome).toMatchObject({ due_at: at(DAY) })
  })

  test('counts as failed if it cannot connect', () => {
    const { outcome, circuit } = classified({ status_code: null, error: 'connection_refused' })
    expect(outcome).toMatchObject({ status: 'pending', due_at: at(5 * SECOND) })
    expect(circuit).toMatchObject({ failures: 1, failing_since: at(0) })
  })

  test('ends its delivery as failed if it is the tenth failed attempt', () => {
    const { outcome, disable } = classified(REFUSED, 9)
    expect(outcome).toMatchObject({ status: 'failed', due_at: null })
    // The webhook stays active, because another event may still succeed.
    expect(disable).toBeUndefined()
  })

  test('delays its delivery and pauses the receiver for the time in Retry-After', () => {
    const { outcome, circuit } = classified({
      status_code: 503,
      error: 'status',
      retry_after: '600',
    })
    expect(outcome.due_at).toBe(at(10.5 * MINUTE))
    expect(circuit.pausedUntil).toBe(NOW + 10 * MINUTE)
  })

  test('keeps its delivery pending after a 410, in case the webhook is reactivated', () => {
    const { outcome, disable } = classified({ status_code: 410, error: 'status' })
    expect(disable).toBe('gone')
    expect(outcome).toMatchObject({ status: 'pending', due_at: at(5 * SECOND) })
  })

  test('deactivates the webhook if all attempts have failed for five days', () => {
    const sick = { ...WELL, failures: 9, failing_since: at(-5 * DAY) }
    expect(classified(REFUSED, 2, sick).disable).toBe('failing')
  })
})
