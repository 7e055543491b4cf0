/** Finds and deletes leftover rows of a deleted tenant. `server/test/plans` tests the cost of the search. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findAnyWebhook } from '../../src/features/webhooks/upkeep/upkeep.store.ts'
import { purgeWebhooks } from '../../src/features/webhooks/webhooks.jobs.ts'
import { inBatches } from '../../src/lib/in-batches.ts'
import type { Scopes } from '../../src/platform/db/index.ts'
import { scopesOf } from '../sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'

const [GONE, OTHER] = [1, 2]
/** IDs of the other tenant's webhooks, before and after the IDs of the leftover rows. */
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

/** Adds eight rows for each of the webhooks, spread over four days. */
async function add(table: Rows, tenant: number, webhooks: readonly number[]) {
  const [columns, values] = COLUMNS[table]
  await database.sql(
    `insert into ${table} (tenant_id, webhook_id, entry_id, event_at, ${columns})
     select $1, w, n, now() - n % 4 * interval '1 day', ${values}
     from unnest($2::bigint[]) w, generate_series(1, 8) n`,
    [tenant, webhooks],
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

describe.each(['webhook_deliveries', 'webhook_attempts'] as const)('rows of %s', (table) => {
  test.each([
    ['between', LEFT_OVER],
    ['before', -1],
    ['after', 99],
  ])(
    'of a deleted webhook are found if they are stored %s rows of other webhooks',
    async (_where, webhook) => {
      await add(table, OTHER, LIVING)
      expect(await find(GONE)).toBeUndefined()
      await add(table, GONE, [webhook])
      expect(await find(GONE)).toBe(webhook)
    },
  )

  test('of deleted webhooks are deleted in batches, and no other rows', async () => {
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
