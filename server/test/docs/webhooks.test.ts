/** What docs/webhooks.md shows to receivers is what the service sends: its example, its codes. */
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { messageBody, messageId } from '../../src/features/webhooks/events/message.ts'
import { SHOWN_ERRORS } from '../../src/features/webhooks/webhooks.schema.ts'
import { blocksOf, named, tableOf, textOf } from './documents.ts'

const FILE = 'docs/webhooks.md'
const page = textOf(FILE)

afterEach(() => {
  vi.useRealTimers()
})

describe('the example of a message', () => {
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

  test('verifies with the secret that is shown, and with no other', () => {
    // The library takes messages of the last minutes only.
    vi.useFakeTimers({ toFake: ['Date'], now: Number(headers['webhook-timestamp']) * 1000 })
    expect(secrets).toHaveLength(1)
    const verify = (secret: string) => new Webhook(secret).verify(JSON.stringify(message), headers)
    expect(verify(secrets?.[0] ?? '')).toEqual(message)
    expect(() => verify(`whsec_${btoa('another secret of 24 bytes')}`)).toThrow('No matching')
  })

  test('has the body and the id that the service makes of such an event', () => {
    const { type, timestamp, tenant_id, data } = message
    const { entry_id, ...about } = data
    const entry = { id: entry_id, tenant_id, action: type, created_at: timestamp, ...about }
    expect(JSON.stringify(message)).toBe(messageBody(entry))
    expect(headers['webhook-id']).toBe(messageId(entry))
  })

  test('was sent when it happened or soon after', () => {
    const late = Number(headers['webhook-timestamp']) * 1000 - Date.parse(message.timestamp)
    expect(late).toBeGreaterThanOrEqual(0)
    expect(late).toBeLessThan(60_000)
  })
})

test('every error of an attempt is told once, with its meaning, and no other', () => {
  const rows = tableOf(FILE, 'Error')
  expect(rows.map(([code]) => named(code)).sort()).toEqual([...SHOWN_ERRORS].sort())
  for (const [code, meaning] of rows) expect(meaning, code).toMatch(/^\w.*\w/)
})
