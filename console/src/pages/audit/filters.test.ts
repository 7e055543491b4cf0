import { describe, expect, test } from 'vitest'
import { readListView } from '../../parts/list/list-search.ts'
import type { AuditAction } from './action-meanings.ts'
import { auditList, auditQuery, isAddress, timeRangeOf } from './filters.ts'
import { isOnFirstPage, spanOf } from './span.ts'

const filtersOf = (search: Readonly<Record<string, unknown>>) =>
  readListView(auditList, search).filters

const known: AuditAction[] = ['user.created', 'user.deleted', 'auth.login'].map((action) => ({
  action,
  meaning: action,
  group: action === 'auth.login' ? 'auth' : 'user',
  resource_type: 'user',
}))

describe('the time range', () => {
  test.each([
    [{}, { range: '24h' }],
    [{ range: '7d' }, { range: '7d' }],
    [{ range: 'all' }, undefined],
    [{ about_user: 5 }, undefined],
    [{ resource_type: 'user', resource_id: 57 }, undefined],
    [{ resource_id: 57 }, { range: '24h' }],
    [{ request_id: '0c1d2e3f-4a5b-4c0e-9a53-7d1f0c9e4b5c', range: '1h' }, { range: '1h' }],
    [
      { from: '2026-03-01', to: '2026-03-02' },
      { from: '2026-03-01', to: '2026-03-02' },
    ],
    [{ from: '2026-03-02', to: '2026-03-01' }, { range: '24h' }],
    [{ from: '2026-02-31', to: '2026-03-01' }, { range: '24h' }],
    [{ from: '2026-03-01T10:00' }, { range: '24h' }],
  ])('is read from the URL parameters %j', (search, range) => {
    expect(timeRangeOf(filtersOf(search))).toEqual(range)
  })

  test('has no end on the first page, and a fixed end on later pages', () => {
    const now = new Date('2026-11-27T12:00:00.000Z')
    expect(spanOf({ range: '1h' }, now)).toEqual({ from_date: '2026-11-27T11:00:00.000Z' })
    const last = '2026-11-27T09:00:00.000Z'
    expect(spanOf({ range: '1h' }, now, last)).toEqual({
      from_date: '2026-11-27T08:00:00.000Z',
      to_date: last,
    })
    expect(spanOf(undefined, now)).toEqual({})
    expect(isOnFirstPage(readListView(auditList, { page: 2 }))).toBe(false)
  })
})

test('the audit log page sends only known actions and groups, and sends a record ID only with a resource type', () => {
  const search = {
    action: ['user.created', 'user.unknown'],
    group: 'auth',
    resource_id: 57,
    ip: '::1',
  }
  expect(auditQuery(3, filtersOf(search), {}, known)).toEqual({
    tenant_id: 3,
    action: ['user.created'],
    group: ['auth'],
    ip: '::1',
  })
})

test.each([
  ['203.0.113.7', true],
  ['2001:db8::1', true],
  ['999.1.1.1', false],
  ['fe80::1%0', false],
  ['', false],
])('the audit log page decides whether "%s" is an IP address: %s', (text, isOne) => {
  expect(isAddress(text)).toBe(isOne)
})
