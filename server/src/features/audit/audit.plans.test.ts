/** What the lists of a large journal cost: rows that PostgreSQL looks at, whatever is asked for. */
import type pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { atTheEnd } from '../../../test/support/at-the-end.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { vacuum } from '../../../test/support/vacuum.ts'
import { listenerClient, PLATFORM_ROLE } from '../../platform/db/connection.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import { queriesOn, type Statement } from '../../platform/db/statements.ts'
import { openTotals } from '../../platform/db/totals.ts'
import { enterActions } from '../../platform/journal/index.ts'
import { type AuditQuery, auditList } from './audit.schema.ts'
import { listEntries } from './audit.store.ts'

const ENTRIES = 120_000
/** No statement looks at more of the month, also those that count up to 10,000 of every fifth entry. */
const MOST = ENTRIES / 2
/** Half of the entries are those of one clinic, 50 are those of another, 49 share the rest. */
const [LARGE, MIDDLING, SMALL] = [1, 2, 99]
/** Who did all in the large clinic; who did 20 things; who did none. */
const [BUSY, IDLE, NOBODY] = [7, 8, 9]

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await migratedDatabase()
  await enterActions(scopesOf(database))
  // All in one month, next month, so that none of them is in another partition.
  await database.sql(
    `insert into journal (tenant_id, user_id, user_email, action, resource_type, resource_id, created_at)
     select
       case when n % 2400 = 0 then ${SMALL} when n % 2 = 0 then ${LARGE} else 2 + (n / 2) % 49 end,
       case when n % 6000 = 1 then ${IDLE} when n % 2 = 0 then ${BUSY} else 100 + n % 997 end,
       'somebody@clinic.example',
       case when n % 40000 = 5 then 'auth.refresh_reused' when n % 30000 = 7 then 'tenant.updated'
         when n % 10 < 4 then 'auth.token_refreshed' when n % 10 < 8 then 'auth.login'
         when n % 10 = 8 then 'auth.logout' else 'user.updated' end,
       case when n % 40000 = 5 then 'session' when n % 30000 = 7 then 'tenant'
         when n % 10 = 9 then 'user' else 'session' end,
       case when n % 10 = 9 then (n % 997)::text else gen_random_uuid()::text end,
       date_trunc('month', now(), 'UTC') + interval '1 month' + n * interval '20 seconds'
     from generate_series(1, ${ENTRIES}) as n`,
  )
  await vacuum(database, 'journal')
  client = listenerClient(database.address)
  await client.connect()
  atTheEnd(() => client.end())
})

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

const NO_ROWS = /Bitmap Index|Subquery|Function/

/** Rows that the scans of a plan have looked at, whether or not they were wanted. */
function looked(plan: Plan, beside = NO_ROWS): number {
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + looked(child, beside), 0)
  const isRead = /Scan/.test(plan['Node Type']) && !beside.test(plan['Node Type'])
  if (!isRead) return below
  const { 'Rows Removed by Filter': filtered = 0, 'Rows Removed by Index Recheck': lossy = 0 } =
    plan
  return below + (plan['Actual Rows'] + filtered + lossy) * plan['Actual Loops']
}

/** Lists as the store does, and answers the most rows that one of its statements has looked at. */
async function cost(tenantId: number | null, query: AuditQuery, span = {}) {
  const plans: Plan[] = []
  const watch = async ({ sql, parameters }: Statement) => {
    const values = [...parameters]
    if (/^\s*select/i.test(sql)) {
      const explained = await client.query(
        `explain (analyze, timing off, format json) ${sql}`,
        values,
      )
      plans.push(explained.rows[0]['QUERY PLAN'][0].Plan)
    }
    return client.query(sql, values)
  }
  const sent: Promise<unknown>[] = []
  const tx = {
    db: queriesOn(watch),
    tenantId,
    sendFor: (statement: Statement) => ({ rows: watch(statement).then(({ rows }) => rows) }),
    end: () => undefined,
    totals: openTotals(),
    send: ({ sql, parameters }: { sql: string; parameters: unknown[] }) =>
      void sent.push(client.query(sql, parameters)),
  } as unknown as TenantTx
  await client.query('begin')
  await client.query(
    tenantId === null
      ? `set local role ${PLATFORM_ROLE}`
      : `set local wardkeep.tenant_id = '${tenantId}'`,
  )
  const caller = { role: 'auditor', tenant_id: LARGE } as const
  const found = await listEntries(tx, { list: auditList, caller, query, from: undefined }, span)
  await Promise.all(sent)
  await client.query('commit')
  return { total: found.total, rows: Math.max(...plans.map((plan) => looked(plan))), plans }
}

const SCOPES: [string, number | null][] = [
  ['across all clinics', null],
  ['a clinic that has half of all', LARGE],
  ['a clinic among fifty', MIDDLING],
  ['a clinic that has hardly any', SMALL],
]

const SESSION = '11111111-1111-4111-8111-111111111111'

const FILTERS: [string, Partial<AuditQuery>][] = [
  ['all', {}],
  ['a frequent action', { action: 'auth.login' }],
  ['a rare action', { action: 'auth.refresh_reused' }],
  ['an action that never came', { action: 'tenant.purged' }],
  ['an action that is none', { action: 'nothing.known' }],
  ['a busy user', { user_id: BUSY }],
  ['a user who did little', { user_id: IDLE }],
  ['a user who did nothing', { user_id: NOBODY }],
  ['the history of a user', { resource_type: 'user', resource_id: '99' }],
  ['the history of a session that is gone', { resource_type: 'session', resource_id: SESSION }],
  ['a frequent kind of record', { resource_type: 'session' }],
  ['a rare kind of record', { resource_type: 'tenant' }],
  ['a kind of record that is none', { resource_type: 'nothing' }],
  ['what a user did to a record', { user_id: BUSY, resource_type: 'user', resource_id: '99' }],
  ['a frequent action of a user who did little', { action: 'auth.login', user_id: IDLE }],
]

describe.each(SCOPES)('%s', (_scope, tenantId) => {
  describe.each(['created_at', 'id'] as const)('by %s', (sort_by) => {
    test.each(['desc', 'asc'] as const)('%s: no filter reads the month', async (sort_order) => {
      const costs: Record<string, number> = {}
      for (const [name, filter] of FILTERS) {
        // Nobody works in two clinics, and the planner cannot know that.
        if (filter.user_id === BUSY && (tenantId ?? LARGE) !== LARGE) continue
        const query: AuditQuery = { page: 1, limit: 20, sort_by, sort_order, ...filter }
        costs[name] = (await cost(tenantId, query)).rows
      }
      expect(Object.entries(costs).filter(([, rows]) => rows > MOST)).toEqual([])
    })
  })
})

test.each(['desc', 'asc'] as const)(
  'an action in a clinic, by time and %s: no entry is read that is not shown or counted',
  async (sort_order) => {
    const query: AuditQuery = { page: 1, limit: 20, sort_by: 'created_at', sort_order }
    const { plans, total } = await cost(MIDDLING, { ...query, action: 'user.updated' })
    expect(plans.map((plan) => looked(plan)).slice(0, 2)).toEqual([21, total])
  },
)

test.each(['desc', 'asc'] as const)(
  'a clinic by id, %s: no entry is read that is not shown',
  async (sort_order) => {
    const { plans } = await cost(MIDDLING, { page: 1, limit: 20, sort_by: 'id', sort_order })
    const fromTable = plans.map((plan) => looked(plan, /Index Only|Bitmap Index|Subquery|Function/))
    expect(fromTable).toEqual([0, 0, 20])
  },
)
