/** What a page of a patient's accesses costs where there are very many: rows that PostgreSQL looks at for it. */
import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { atTheEnd } from '../../../../test/support/at-the-end.ts'
import { migratedDatabase, type TestDatabase } from '../../../../test/support/database.ts'
import type { Cursor } from '../../../lib/cursor.ts'
import { listenerClient } from '../../../platform/db/connection.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { queriesOn, type Statement } from '../../../platform/db/statements.ts'
import { accessList } from './accesses.schema.ts'
import { listAccesses } from './accesses.store.ts'

const [MUCH_READ, OTHER] = [7, 8]
/** Of the record that is read very often, a second apart; the clinic has as many of others. */
const READS = 30_000
const LISTS = 3_000
const LIMIT = 20
/** The page and one more, of each part and once more as they are looked up, and what lies between. */
const MOST = 10 * LIMIT

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await migratedDatabase()
  await furnish(database)
  client = listenerClient(database.address)
  await client.connect()
  atTheEnd(() => client.end())
})

/** All in one month, next month, so that no entry is in another partition. */
const AT = (n: string) =>
  `date_trunc('month', now(), 'UTC') + interval '1 month' + ${n} * interval '1 second'`

async function furnish({ sql }: TestDatabase): Promise<void> {
  await sql("insert into tenants (id, name, subdomain) values (1, 't', 't1')")
  await sql(
    `insert into journal (tenant_id, action, resource_type, resource_id, is_access, created_at)
     select 1, case when n % 100 = 0 then 'patient.updated' else 'patient.read' end, 'patient',
       case when n % 2 = 0 then ${MUCH_READ} else 100 + n % 997 end::text, n % 100 <> 0, ${AT('n')}
     from generate_series(1, ${2 * READS}) n`,
  )
  await sql(
    `with listed as (
       insert into journal (tenant_id, action, resource_type, is_access, created_at)
       select 1, 'patient.listed', 'patient', true, ${AT('7 * n')} from generate_series(1, ${LISTS}) n
       returning id, created_at)
     insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
     select 1, 'patient', patient, created_at, id from listed, (values (${MUCH_READ}), (${OTHER})) v (patient)`,
  )
  await sql('analyze')
}

interface Plan {
  'Node Type': string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** Rows that the scans of a plan have found, in indexes as well. */
function looked(plan: Plan): number {
  const below = (plan.Plans ?? []).reduce((sum, child) => sum + looked(child), 0)
  if (!/Scan/.test(plan['Node Type']) || /Subquery|Function/.test(plan['Node Type'])) return below
  const { 'Rows Removed by Filter': removed = 0 } = plan
  return below + (plan['Actual Rows'] + removed) * plan['Actual Loops']
}

/** Lists as the store does, and answers how many rows its statements have looked at in all. */
async function cost(patientId: number, sort_order: 'asc' | 'desc', key: Cursor['key']) {
  let rows = 0
  const watch = async ({ sql, parameters }: Statement) => {
    const values = [...parameters]
    const explained = await client.query(
      `explain (analyze, timing off, format json) ${sql}`,
      values,
    )
    rows += looked(explained.rows[0]['QUERY PLAN'][0].Plan)
    return client.query(sql, values)
  }
  const tx = {
    db: queriesOn(watch),
    tenantId: 1,
    sendFor: (statement: Statement) => ({ rows: watch(statement).then((found) => found.rows) }),
  } as unknown as TenantTx
  await client.query(`begin read only; set local role wardkeep_app;
    set local wardkeep.tenant_id = '1'; set local plan_cache_mode = force_custom_plan`)
  const found = await listAccesses(tx, patientId, {
    list: accessList,
    caller: { role: 'admin', tenant_id: 1 },
    query: { limit: LIMIT, sort_by: 'created_at', sort_order },
    from: { key, page: 2, total: 0, estimated: false },
  })
  await client.query('commit')
  return { rows, found }
}

/** A place in the order of time, by its second: between an entry and the next. */
async function placeAt(second: number): Promise<Cursor['key']> {
  const { rows } = await client.query<{ at: string }>(`select (${AT(String(second))})::text as at`)
  return [rows[0]?.at ?? '', Number.MAX_SAFE_INTEGER]
}

test.each(['desc', 'asc'] as const)(
  'a page of them reads the page, wherever it is, %s',
  async (sort_order) => {
    for (const second of [0, READS, 2 * READS]) {
      const { rows, found } = await cost(MUCH_READ, sort_order, await placeAt(second))
      const isAtEnd = second === (sort_order === 'desc' ? 0 : 2 * READS)
      expect(found.items).toHaveLength(isAtEnd ? 0 : LIMIT)
      expect(rows).toBeLessThan(MOST)
    }
  },
)

test('they come in their order, lists among them, and none is left out', async () => {
  const { found } = await cost(MUCH_READ, 'desc', await placeAt(LISTS))
  const expected = await database.sql<{ id: number }>(
    `select id::int from (
       select id, created_at from journal where resource_id = '${MUCH_READ}'
       union all
       select entry_id, created_at from journal_resources where resource_id = ${MUCH_READ}) e
     where created_at <= ${AT(String(LISTS))} order by created_at desc, id desc limit ${LIMIT}`,
  )
  expect(found.items.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
  const actions = new Set(found.items.map(({ action }) => action))
  expect(actions).toEqual(new Set(['patient.read', 'patient.listed', 'patient.updated']))
})
