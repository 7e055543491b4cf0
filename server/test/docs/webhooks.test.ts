/** The example and the error codes in docs/how-to/integrate/webhooks.md match what the service sends. */
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { messageBody, messageId } from '../../src/features/webhooks/events/message.ts'
import { SHOWN_ERRORS } from '../../src/features/webhooks/webhooks.schema.ts'
import { blocksOf, named, tableOf, textOf } from './documents.ts'

const FILE = 'docs/how-to/integrate/webhooks.md'
const page = textOf(FILE)

afterEach(() => {
  vi.useRealTimers()
})

describe('the documented example of a webhook message', () => {
  const [request = ''] = blocksOf(page, 'http')
  const headers = Object.fromEntries(
    request
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(': ') as [string, string]),
  )
  const message = JSON.parse(blocksOf(page, 'json')[0] ?? '')
  const secrets = page.match(/whsec_[A-Za-z0-9+/=]{8,}/g)

  test('verifies with the documented secret, and with no other secret', () => {
    // The library accepts only messages of the last few minutes, so the clock is set to the example's time.
    vi.useFakeTimers({ toFake: ['Date'], now: Number(headers['webhook-timestamp']) * 1000 })
    expect(secrets).toHaveLength(1)
    const verify = (secret: string) => new Webhook(secret).verify(JSON.stringify(message), headers)
    expect(verify(secrets?.[0] ?? '')).toEqual(message)
    expect(() => verify(`whsec_${btoa('another secret of 24 bytes')}`)).toThrow('No matching')
  })

  test('has the body and ID that the service creates for this event', () => {
    const { type, timestamp, tenant_id, data } = message
    const { entry_id, ...about } = data
    const entry = { id: entry_id, tenant_id, action: type, created_at: timestamp, ...about }
    expect(JSON.stringify(message)).toBe(messageBody(entry))
    expect(headers['webhook-id']).toBe(messageId(entry))
  })

  test('has a timestamp at the time of its event or soon after', () => {
    const late = Number(headers['webhook-timestamp']) * 1000 - Date.parse(message.timestamp)
    expect(late).toBeGreaterThanOrEqual(0)
    expect(late).toBeLessThan(60_000)
  })
})

test('the documentation lists every error of a delivery attempt once with its meaning, and no other error', () => {
  const rows = tableOf(FILE, 'Error')
  expect(rows.map(([code]) => named(code)).sort()).toEqual([...SHOWN_ERRORS].sort())
  for (const [code, meaning] of rows) expect(meaning, code).toMatch(/^\w.*\w/)
})
