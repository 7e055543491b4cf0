/** What the engines tell each other about due deliveries and changed webhooks. */
import { describe, expect, test } from 'vitest'
import type { TenantTx } from '../../../platform/db/index.ts'
import { noticeOf, notifyDue } from './topics.ts'

function announced(ids: readonly number[]): string[] {
  const topics: string[] = []
  const tx = { notify: (...more: string[]) => void topics.push(...more) }
  notifyDue(tx as unknown as TenantTx, ids)
  return topics
}

describe('due deliveries are announced', () => {
  test('by the webhooks that they are for', () => {
    expect(announced([7, 8])).toEqual(['due:7', 'due:8'])
    expect(announced([])).toEqual([])
  })

  test('by one word for all when there are many: a notification holds 8,000 bytes', () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => 2 ** 52 + index)
    expect(announced(ids(51))).toEqual(['due'])
    expect(Buffer.byteLength(announced(ids(50)).join(' '))).toBeLessThan(8000)
  })

  test('and read as they were meant', () => {
    expect(announced([7]).map(noticeOf)).toEqual([{ what: 'due', webhookId: 7 }])
    expect(noticeOf('first:7')).toEqual({ what: 'first', webhookId: 7 })
    expect(noticeOf('due')).toEqual({ what: 'due', webhookId: null })
  })
})

describe('a webhook is read anew', () => {
  test('when it has changed', () => {
    expect(noticeOf('webhook:12')).toEqual({ what: 'changed', webhookId: 12 })
  })

  test('when its tenant has changed', () => {
    expect(noticeOf('tenant:3')).toEqual({ what: 'tenant', tenantId: 3 })
  })

  test('as is every other when something may have been missed', () => {
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
])('"%s" is no business of webhooks', (topic) => {
  expect(noticeOf(topic)).toBeUndefined()
})
