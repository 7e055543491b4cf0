/** Tests how engines are notified of due deliveries and changed webhooks. */
import { describe, expect, test } from 'vitest'
import type { TenantTx } from '../../../platform/db/index.ts'
import { noticeOf, notifyDue } from './topics.ts'

function announced(ids: readonly number[]): string[] {
  const topics: string[] = []
  const tx = { notify: (...more: string[]) => void topics.push(...more) }
  notifyDue(tx as unknown as TenantTx, ids)
  return topics
}

describe('the notification of due deliveries', () => {
  test('names the webhooks that have due deliveries', () => {
    expect(announced([7, 8])).toEqual(['due:7', 'due:8'])
    expect(announced([])).toEqual([])
  })

  test('names no webhooks if the list of IDs might exceed 8,000 bytes', () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => 2 ** 52 + index)
    expect(announced(ids(51))).toEqual(['due'])
    expect(Buffer.byteLength(announced(ids(50)).join(' '))).toBeLessThan(8000)
  })

  test('is parsed to the same topic and webhook', () => {
    expect(announced([7]).map(noticeOf)).toEqual([{ what: 'due', webhookId: 7 }])
    expect(noticeOf('first:7')).toEqual({ what: 'first', webhookId: 7 })
    expect(noticeOf('due')).toEqual({ what: 'due', webhookId: null })
  })
})

describe('the notification of changed webhooks', () => {
  test('names the webhook that has changed', () => {
    expect(noticeOf('webhook:12')).toEqual({ what: 'changed', webhookId: 12 })
  })

  test('names the tenant that has changed', () => {
    expect(noticeOf('tenant:3')).toEqual({ what: 'tenant', tenantId: 3 })
  })

  test('names no webhook, which means all, if notifications may have been missed', () => {
    expect(noticeOf(null)).toEqual({ what: 'changed', webhookId: null })
  })
})

test.each([
  '',
  'journal',
  'user:5',
  'session:due:5',
  'due:',
  'due:x',
  'webhook:',
  'webhook:5:secret',
])('the webhook engine ignores the topic "%s"', (topic) => {
  expect(noticeOf(topic)).toBeUndefined()
})
