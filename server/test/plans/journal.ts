/** The rows that lists of a large journal read, by every filter, order and scope. */
import { describe, expect, test } from 'vitest'
import { type AuditQuery, auditList } from '../../src/features/audit/audit.schema.ts'
import { listEntries } from '../../src/features/audit/audit.store.ts'
import type { ParsedFilters } from '../../src/features/audit/filters.ts'
import { accessList } from '../../src/features/patients/accesses/accesses.schema.ts'
import { listAccesses } from '../../src/features/patients/accesses/accesses.store.ts'
import type { Cursor } from '../../src/lib/cursor.ts'
import { explained, isScan, type PlanDatabase, rowsRead } from './explain.ts'
import {
  accessTime,
  BUSY_ADDRESS,
  BUSY_USER,
  IDLE_ADDRESS,
  IDLE_USER,
  JOURNAL_ENTRIES,
  LARGE_TENANT,
  MIDDLING_TENANT,
  MUCH_READ_PATIENT,
  PATIENT_LISTS,
  PATIENT_READS,
  REQUEST,
  SMALL_TENANT,
  UNSEEN_USER,
} from './furnish.ts'

/**
 * The maximum number of entries that any statement may read, including a count of up to 10,000 when every fifth entry
 * matches.
 */
const MAX_ENTRIES = JOURNAL_ENTRIES / 2
const LIMIT = 20
/** The maximum number of entries that a rare filter matches: changes to a user's account, in every tenant. */
const MAX_OF_FEW = 150
/**
 * The maximum number of rows for a page of accesses. Each part of the query and the lookup read a page and one more
 * row, and the rows between them.
 */
const MAX_ACCESSES = 10 * LIMIT

const SCOPES: [string, number | null][] = [
  ['all tenants', null],
  ['a tenant with half of the entries', LARGE_TENANT],
  ['a tenant among fifty', MIDDLING_TENANT],
  ['a tenant with hardly any entries', SMALL_TENANT],
]

const SESSION = '11111111-1111-4111-8111-111111111111'

const FILTERS: [string, Partial<AuditQuery>, ParsedFilters?][] = [
  ['all', {}],
  ['a frequent action', {}, { actions: ['auth.login'] }],
  ['a rare action', {}, { actions: ['auth.refresh_reused'] }],
  ['an action without entries', {}, { actions: ['tenant.purged'] }],
  ['several actions', {}, { actions: ['auth.logout', 'auth.refresh_reused', 'tenant.updated'] }],
  ['an action without entries among others', {}, { actions: ['tenant.purged', 'user.blocked'] }],
  ['everything about a busy user', { about_user: BUSY_USER }],
  ['everything about a user who did little', { about_user: IDLE_USER }],
  ['everything about a user who did nothing', { about_user: UNSEEN_USER }],
  ['a request', { request_id: REQUEST }],
  ['an unknown request', { request_id: SESSION }],
  ['a busy address', { ip: BUSY_ADDRESS }],
  ['an address of few requests', { ip: IDLE_ADDRESS }],
  ['an unknown address', { ip: '192.0.2.1' }],
  ['a busy address that did little to a record', { ip: BUSY_ADDRESS, resource_type: 'tenant' }],
  ['a busy user', { user_id: BUSY_USER }],
  ['a user who did little', { user_id: IDLE_USER }],
  ['a user who did nothing', { user_id: UNSEEN_USER }],
  ['the history of a user', { resource_type: 'user', resource_id: '99' }],
  ['the history of a deleted session', { resource_type: 'session', resource_id: SESSION }],
  ['a frequent kind of record', { resource_type: 'session' }],
  ['a rare kind of record', { resource_type: 'tenant' }],
  ['an unknown kind of record', { resource_type: 'nothing' }],
  ['what a user did to a record', { user_id: BUSY_USER, resource_type: 'user', resource_id: '99' }],
  [
    'a frequent action of a user who did little',
    { user_id: IDLE_USER },
    { actions: ['auth.login'] },
  ],
]

const isBusy = ({ user_id, about_user, ip }: Partial<AuditQuery>) =>
  [user_id, about_user].includes(BUSY_USER) || ip === BUSY_ADDRESS

type Order = 'asc' | 'desc'

/** Declares the tests of the audit log and of a patient's accesses. */
export function journalPlans(at: () => PlanDatabase): void {
  async function entries(tenantId: number | null, query: AuditQuery, filters: ParsedFilters = {}) {
    const caller = { role: 'auditor', tenant_id: LARGE_TENANT } as const
    const asked = { list: auditList, caller, query, from: undefined }
    const { plans, value } = await explained(at(), tenantId, (tx) =>
      listEntries(tx, asked, filters),
    )
    return { plans, total: value.total }
  }

  describe.each(SCOPES)('reading journal entries of %s', (_scope, tenantId) => {
    describe.each(['created_at', 'id'] as const)('sorted by %s', (sort_by) => {
      test.each<Order>(['desc', 'asc'])(
        'reads at most half of a month for every filter, %s',
        async (sort_order) => {
          const costs: Record<string, number> = {}
          for (const [name, filter, filters] of FILTERS) {
            // The planner cannot know that one tenant has all entries of the busy user and address.
            if (isBusy(filter) && (tenantId ?? LARGE_TENANT) !== LARGE_TENANT) continue
            const query: AuditQuery = { page: 1, limit: LIMIT, sort_by, sort_order, ...filter }
            const { plans } = await entries(tenantId, query, filters)
            costs[name] = Math.max(...plans.map((plan) => rowsRead(plan)))
          }
          expect(Object.entries(costs).filter(([, rows]) => rows > MAX_ENTRIES)).toEqual([])
        },
      )
    })
  })

  test.each<Order>(['desc', 'asc'])(
    'reads only the shown and counted entries of an action in a tenant, by time, %s',
    async (sort_order) => {
      const query: AuditQuery = { page: 1, limit: LIMIT, sort_by: 'created_at', sort_order }
      const { plans, total } = await entries(MIDDLING_TENANT, query, { actions: ['user.updated'] })
      const rows = plans.map((plan) => rowsRead(plan))
      expect(rows.slice(0, 2)).toEqual([LIMIT + 1, total])
    },
  )

  test.each<[string, Partial<AuditQuery>]>([
    ['a request', { request_id: REQUEST }],
    ['an unknown request', { request_id: SESSION }],
    ['an address of few requests', { ip: IDLE_ADDRESS }],
    ['an unknown address', { ip: '192.0.2.1' }],
    ['everything about a user who did little', { about_user: IDLE_USER }],
    ['everything about a user who did nothing', { about_user: UNSEEN_USER }],
  ])('reads no entries other than those found, in any tenant, for %s', async (_name, filter) => {
    for (const tenantId of [null, LARGE_TENANT, MIDDLING_TENANT])
      for (const sort_by of ['created_at', 'id'] as const) {
        const query: AuditQuery = { page: 1, limit: LIMIT, sort_by, sort_order: 'desc', ...filter }
        const { plans } = await entries(tenantId, query)
        const isJournal = ({ 'Relation Name': name = '' }: { 'Relation Name'?: string }) =>
          name.startsWith('journal_2')
        const rows = plans.map((plan) => rowsRead(plan, (node) => isScan(node) && isJournal(node)))
        expect([tenantId, sort_by, Math.max(...rows) <= MAX_OF_FEW]).toEqual([
          tenantId,
          sort_by,
          true,
        ])
      }
  })

  test.each<Order>(['desc', 'asc'])(
    'reads only the shown entries of a tenant from the table, by id, %s',
    async (sort_order) => {
      const query: AuditQuery = { page: 1, limit: LIMIT, sort_by: 'id', sort_order }
      const { plans } = await entries(MIDDLING_TENANT, query)
      const rows = plans.map((plan) =>
        rowsRead(plan, (node) => isScan(node) && !node['Node Type'].includes('Index Only')),
      )
      expect(rows).toEqual([0, 0, LIMIT])
    },
  )

  async function accesses(sort_order: Order, key: Cursor['key']) {
    const asked = {
      list: accessList,
      caller: { role: 'admin', tenant_id: LARGE_TENANT } as const,
      query: { limit: LIMIT, sort_by: 'created_at', sort_order } as const,
      from: { key, page: 2, total: 0, estimated: false },
    }
    const { plans, value } = await explained(
      at(),
      LARGE_TENANT,
      (tx) => listAccesses(tx, MUCH_READ_PATIENT, asked),
      { mode: 'force_custom_plan' },
    )
    const isRead = ({ 'Node Type': type }: { 'Node Type': string }) =>
      /Scan/.test(type) && !/Subquery|Function/.test(type)
    return { rows: plans.reduce((sum, plan) => sum + rowsRead(plan, isRead), 0), found: value }
  }

  /** Returns a position in the order of time between the entry of this second and the next entry. */
  async function positionAt(second: number): Promise<Cursor['key']> {
    const { sql } = at().database
    const [row] = await sql<{ at: string }>(`select (${accessTime(String(second))})::text as at`)
    return [row?.at ?? '', Number.MAX_SAFE_INTEGER]
  }

  test.each<Order>(['desc', 'asc'])(
    "reads only a page of a patient's many accesses, at the start, in the middle and at the end, %s",
    async (sort_order) => {
      for (const second of [0, PATIENT_READS, 2 * PATIENT_READS]) {
        const { rows, found } = await accesses(sort_order, await positionAt(second))
        const isAtEnd = second === (sort_order === 'desc' ? 0 : 2 * PATIENT_READS)
        expect(found.items).toHaveLength(isAtEnd ? 0 : LIMIT)
        expect(rows).toBeLessThan(MAX_ACCESSES)
      }
    },
  )

  test("lists each patient's accesses in order and without gaps, even if lists are among them", async () => {
    const { found } = await accesses('desc', await positionAt(PATIENT_LISTS))
    const expected = await at().database.sql<{ id: number }>(
      `select id::int from (
         select id, created_at from journal
         where resource_type = 'patient' and resource_id = '${MUCH_READ_PATIENT}'
         union all
         select entry_id, created_at from journal_resources where resource_id = ${MUCH_READ_PATIENT}) e
       where created_at <= ${accessTime(String(PATIENT_LISTS))}
       order by created_at desc, id desc limit ${LIMIT}`,
    )
    expect(found.items.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    const actions = new Set(found.items.map(({ action }) => action))
    expect(actions).toEqual(new Set(['patient.read', 'patient.listed', 'patient.updated']))
  })
}
