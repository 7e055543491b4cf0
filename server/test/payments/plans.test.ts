/** A page of notifications reads little more than it shows, however rare is what its filters ask for. */
import { CompiledQuery } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  type NotificationQuery,
  notificationList,
} from '../../src/features/payments/payments.schema.ts'
import { listNotifications } from '../../src/features/payments/records/records.store.ts'
import { inScope, type TenantTx } from '../../src/platform/db/index.ts'
import type { Statement } from '../../src/platform/db/statements.ts'
import { openService, type Service } from '../support/service.ts'
import { vacuum } from '../support/vacuum.ts'

const ROWS = 20_000
const LIMIT = 20
const TENANT = 101
/** What is shown, one more to see whether there is a next page, and the few that other tenants have of it. */
const READ_AT_MOST = LIMIT + 1 + 10

let service: Service

beforeAll(async () => {
  service = await openService()
  await service.database.sql(`
    insert into tenants (id, name, subdomain) select n, 't', 't' || n from generate_series(100, 109) n;
    insert into data_keys (id, tenant_id, key_encryption_key_id, wrapped_key)
      select 1000, 100, min(id), '' from key_encryption_keys;
    insert into payment_notifications (tenant_id, provider, event_key, type, state, reason, holds_key,
        received_at, armed_at, due_at, waiting_since, seal_id, sealed_body)
      select 100 + n % 10, case when n <= 10 then 'paygate' else 'cardnet' end, 'evt_' || n, 'payment.succeeded',
        state, case when state = 'failed' then 'unreadable' end, true, at, at,
        case when state = 'received' then at end, case when state = 'received' then at end,
        gen_random_uuid(), '\\x02'::bytea || int8send(1000)
      from generate_series(1, ${ROWS}) n,
        lateral (select now() - interval '30 days' + n * interval '1 minute',
          case when n between 11 and 20 then 'failed' when n between 21 and 30 then 'received' else 'applied' end)
          as said (at, state)`)
  await vacuum(service.database, 'payment_notifications')
})

interface Plan {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** The notifications that the plan has read, shown or not. */
function readBy(plan: Plan): number {
  const below = (plan.Plans ?? []).map(readBy).reduce((sum, read) => sum + read, 0)
  if (plan['Relation Name'] !== 'payment_notifications') return below
  return (
    below + (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  )
}

/** How many notifications the first page reads, planned and run as it is for requests. */
function readFor(scope: number | null, filters: Partial<NotificationQuery>): Promise<number> {
  const query: NotificationQuery = { limit: LIMIT, sort_by: 'id', sort_order: 'desc', ...filters }
  const caller = { role: 'superadmin' as const, tenant_id: TENANT }
  const asked = { list: notificationList, caller, query, from: undefined }
  const explain = async (tx: TenantTx) => {
    const sent: Statement[] = []
    const sendFor = (statement: Statement) => {
      sent.push(statement)
      return { rows: Promise.resolve([]) }
    }
    await listNotifications({ ...tx, sendFor } as TenantTx, asked, {})
    const [{ sql, parameters }] = sent as [Statement]
    const explained = CompiledQuery.raw(`explain (analyze, format json) ${sql}`, [...parameters])
    const { rows } = await tx.db.executeQuery<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explained)
    return readBy(rows[0]?.['QUERY PLAN'][0].Plan as Plan)
  }
  return inScope(service.app.db, scope, explain, 'filtered list')
}

describe.each([
  ['all tenants', null],
  ['a tenant', TENANT],
])('of %s', (_whose, scope) => {
  const orders = ['id', 'received_at'] as const
  const rare = [
    { provider: 'paygate' },
    { state: 'failed' },
    { state: 'received' },
    { state: 'superseded' },
    { reason: 'unreadable' },
    { provider: 'paygate', reason: 'unreadable' },
  ] as const
  const pages = orders.flatMap((sort_by) => rare.map((filter) => ({ ...filter, sort_by })))

  test.each(pages)('those that are few, by %j', async (filters) => {
    expect(await readFor(scope, filters)).toBeLessThanOrEqual(READ_AT_MOST)
  })
})

test('a provider that tells no more since long ago', async () => {
  const { sql } = service.database
  await sql(`update payment_notifications set provider = 'paygate' where id <= ${ROWS / 2}`)
  await vacuum(service.database, 'payment_notifications')
  expect(await readFor(null, { provider: 'paygate' })).toBeLessThanOrEqual(READ_AT_MOST)
})
