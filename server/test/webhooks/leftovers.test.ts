/** What a deleted tenant left over is found and destroyed, at a cost that goes by webhooks and not by rows. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findAnyWebhook } from '../../src/features/webhooks/upkeep/upkeep.store.ts'
import { purgeWebhooks } from '../../src/features/webhooks/webhooks.jobs.ts'
import { inBatches } from '../../src/lib/in-batches.ts'
import { listenerClient, PLATFORM_ROLE } from '../../src/platform/db/connection.ts'
import type { Scopes, TenantTx } from '../../src/platform/db/index.ts'
import { queriesOn, type Statement } from '../../src/platform/db/statements.ts'
import { scopesOf } from '../sessions/scopes.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { vacuum } from '../support/vacuum.ts'

const [GONE, OTHER] = [1, 2]
/** Of the other tenant, on both sides of what is left over. */
const LIVING = [1, 2, 3, 7, 8, 9]
const LEFT_OVER = 5

type Rows = 'webhook_deliveries' | 'webhook_attempts'

let database: TestDatabase
let db: Scopes

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database, 2)
  await database.sql(`
    insert into tenants (id, name, subdomain) values (${GONE}, 't', 't1'), (${OTHER}, 't', 't2');
    insert into webhooks (id, tenant_id, url, events)
      select unnest('{${LIVING}}'::bigint[]), ${OTHER}, 'https://x.test', '{}';
    select ensure_webhook_partitions(current_date - 3, current_date + 2)`)
})

beforeEach(() => database.sql('truncate webhook_deliveries, webhook_attempts'))

const COLUMNS = {
  webhook_deliveries: ['event, status', "'user.created', 'delivered'"],
  webhook_attempts: ['number, started_at, duration_ms', '1, now(), 5'],
}

/** Adds rows of each of the webhooks, spread over four days. */
async function add(table: Rows, tenant: number, webhooks: readonly number[], [from, to] = [1, 8]) {
  const [columns, values] = COLUMNS[table]
  await database.sql(
    `insert into ${table} (tenant_id, webhook_id, entry_id, event_at, ${columns})
     select $1, w, n, now() - n % 4 * interval '1 day', ${values}
     from unnest($2::bigint[]) w, generate_series($3::int, $4::int) n`,
    [tenant, webhooks, from, to],
  )
}

const find = (tenant: number) => db.acrossTenants((tx) => findAnyWebhook(tx, tenant))

async function countOf(table: Rows, tenant: number): Promise<number> {
  const [row] = await database.sql<{ count: number }>(
    `select count(*)::int as count from ${table} where tenant_id = $1`,
    [tenant],
  )
  return row?.count ?? Number.NaN
}

describe.each(['webhook_deliveries', 'webhook_attempts'] as const)('%s', (table) => {
  test.each([
    ['between', LEFT_OVER],
    ['before', -1],
    ['behind', 99],
  ])('of a webhook that is gone are found %s those of others', async (_where, webhook) => {
    await add(table, OTHER, LIVING)
    expect(await find(GONE)).toBeUndefined()
    await add(table, GONE, [webhook])
    expect(await find(GONE)).toBe(webhook)
  })

  test('of webhooks that are gone are destroyed in batches, and nothing else', async () => {
    await add(table, OTHER, LIVING)
    await add(table, GONE, [0, LEFT_OVER, 6, 99])
    let batches = 0
    await inBatches(new AbortController().signal, () => {
      batches += 1
      return db.acrossTenants((tx) => purgeWebhooks(tx, GONE, 3))
    })
    expect(batches).toBeGreaterThan(8)
    expect(await countOf(table, GONE)).toBe(0)
    expect(await countOf(table, OTHER)).toBe(8 * LIVING.length)
  })
})

interface Plan {
  'Shared Hit Blocks': number
  'Shared Read Blocks': number
}

/** The pages that the search reads for a tenant, as jobs see the tables. */
async function pagesRead(tenant: number): Promise<number> {
  const client = listenerClient(database.address)
  await client.connect()
  atTheEnd(() => client.end())
  let pages = 0
  const watch = async ({ sql, parameters }: Statement) => {
    const { rows } = await client.query(
      `explain (analyze, buffers, timing off, format json) ${sql}`,
      [...parameters],
    )
    const plan: Plan = rows[0]['QUERY PLAN'][0].Plan
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    return client.query(sql, [...parameters])
  }
  await client.query(`begin; set local role ${PLATFORM_ROLE}`)
  const found = await findAnyWebhook({ db: queriesOn(watch) } as unknown as TenantTx, tenant)
  expect(found).toBeUndefined()
  await client.query('commit')
  return pages
}

test('a tenant that has nothing left costs no more pages where others have eight times as many rows', async () => {
  const tables = ['webhook_deliveries', 'webhook_attempts'] as const
  const costs: number[] = []
  for (const span of [
    [1, 1000],
    [1001, 8000],
  ] as const) {
    for (const table of tables) await add(table, OTHER, LIVING, [...span])
    // With what is known of the tables before they are analysed, and behind it.
    costs.push(await pagesRead(GONE))
    for (const table of tables) await vacuum(database, table)
    costs.push(await pagesRead(GONE))
  }
  const probes = tables.length * (LIVING.length + 1) * 6
  // A probe goes down the index of each day, and looks at one row.
  expect(Math.max(...costs)).toBeLessThan(probes * 4)
})
