/** The totals of lists are immediately correct on every node, although the nodes rarely count. */
import type { Kysely } from 'kysely'
import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type AuditQuery, auditList } from '../../src/features/audit/audit.schema.ts'
import { listEntries } from '../../src/features/audit/audit.store.ts'
import { userList } from '../../src/features/users/users.schema.ts'
import { listUsers } from '../../src/features/users/users.store.ts'
import type { PageQuery } from '../../src/lib/page.ts'
import { inScope, type Scopes, type TenantTx } from '../../src/platform/db/index.ts'
import { startUpkeep } from '../../src/platform/lifecycle/upkeep.ts'
import { forgetWrites, listWritesUpkeep } from '../../src/platform/lists/list-writes.ts'
import { scopesOf } from '../sessions/scopes.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { migratedDatabase, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/server-address.ts'
import { frozenClock } from '../support/time.ts'

const [HERE, ELSEWHERE] = [1, 2]

let database: TestDatabase
let sql: TestDatabase['sql']
let nodes: Scopes[]

beforeAll(async () => {
  database = await migratedDatabase()
  sql = database.sql
  await sql(
    `insert into tenants (id, name, subdomain) values (1, 'Here', 'here'), (2, 'Elsewhere', 'elsewhere')`,
  )
  await add(HERE, 40)
  await add(ELSEWHERE, 30)
  nodes = [scopesOf(database), scopesOf(database)]
})

let made = 0
const add = (tenantId: number, count: number, role = 'nurse') => {
  made += count
  return sql(
    `insert into users (tenant_id, email, full_name, role, password_hash)
     select $1, n || '@x.test', 'Someone', $2, '-' from generate_series($3::int, $4::int) n`,
    [tenantId, role, made - count + 1, made],
  )
}

/** Returns a node's total for a page in the middle of the list, and whether the node counted it. */
async function ask(node: Scopes, scope: number | null, filter: object = {}) {
  const query: PageQuery = { limit: 5, sort_by: 'id', sort_order: 'asc', ...filter }
  const asked = {
    list: userList,
    caller: { role: 'superadmin' as const, tenant_id: 99 },
    query: query as never,
    from: undefined,
  }
  const run = async (tx: TenantTx) => {
    // The number of counting statements. The query for the page and the check for writes use other statements.
    let counts = 0
    const counting = tx.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        counts += 1
        return result
      },
    }) as unknown as Kysely<never>
    const { total } = await listUsers({ ...tx, db: counting } as unknown as TenantTx, asked)
    return { total, counts }
  }
  return inScope(node, scope, run, Object.keys(filter).length > 0 ? 'filtered list' : 'list')
}

/** Returns the total on both nodes. Requests it again to show that each node has cached it. */
async function remembered(scope: number | null, filter: object = {}) {
  const totals = []
  for (const node of nodes) {
    await ask(node, scope, filter)
    const { total, counts } = await ask(node, scope, filter)
    expect(counts).toBe(0)
    totals.push(total)
  }
  expect(totals[0]).toBe(totals[1])
  return totals[0] as number
}

/** Returns the total on both nodes. Expects that both nodes count again. */
async function counted(scope: number | null, filter: object = {}) {
  const answers = await Promise.all(nodes.map((node) => ask(node, scope, filter)))
  expect(answers.map(({ counts }) => counts)).toEqual([1, 1])
  expect(answers[0]?.total).toBe(answers[1]?.total)
  return answers[0]?.total as number
}

describe('a total that has not changed is counted only once per node', () => {
  test('for a tenant, for all tenants, and for each filter', async () => {
    const count = async (where: string) => {
      const [row] = await sql<{ count: number }>(`select count(*) from users where ${where}`)
      return row?.count
    }
    expect(await remembered(HERE)).toBe(await count('tenant_id = 1'))
    expect(await remembered(null)).toBe(await count('true'))
    expect(await remembered(HERE, { role: 'nurse' })).toBe(
      await count("tenant_id = 1 and role = 'nurse'"),
    )
  })

  test('even when users sign in, or when records of other tenants change', async () => {
    const before = await remembered(HERE)
    await sql('update users set last_login_at = now(), password_hash = $1', ['other'])
    await add(ELSEWHERE, 1)
    expect(await remembered(HERE)).toBe(before)
    for (const node of nodes) expect((await ask(node, HERE)).counts).toBe(0)
  })
})

describe('every node immediately returns the new total after', () => {
  test('a record is added', async () => {
    const [here, all] = [await remembered(HERE), await remembered(null)]
    await add(HERE, 3)
    expect(await counted(HERE)).toBe(here + 3)
    expect(await counted(null)).toBe(all + 3)
  })

  test('a record is deleted', async () => {
    const here = await remembered(HERE)
    await sql('delete from users where id in (select id from users where tenant_id = 1 limit 2)')
    expect(await counted(HERE)).toBe(here - 2)
  })

  test.each([
    ['the role', { role: 'doctor' }, "role = 'doctor'"],
    ['the blocked state', { is_active: false }, 'is_active = false'],
    ['the name', { search: 'renamed' }, "full_name = 'Renamed'"],
  ])('a change of %s makes records match a filter', async (_, filter, change) => {
    await sql(
      `update users set ${change} where id in (select id from users where tenant_id = 1 order by id limit 8)`,
    )
    const before = await remembered(HERE, filter)
    await sql(
      `update users set ${change} where id in (select id from users where tenant_id = 1 order by id desc limit 4)`,
    )
    expect(await counted(HERE, filter)).toBe(before + 4)
  })

  test('a tenant is deleted, and after the tenant is restored', async () => {
    const all = await remembered(null)
    const elsewhere = await remembered(ELSEWHERE)
    await sql('update tenants set deleted_at = now() where id = 2')
    expect(await counted(null)).toBe(all - elsewhere)
    await sql('update tenants set deleted_at = null where id = 2')
    expect(await counted(null)).toBe(all)
  })

  test('a transaction that began before the count was made commits', async () => {
    const other = new pg.Client('url' in database.address ? database.address.url : database.address)
    await other.connect()
    atTheEnd(() => other.end())
    await other.query('begin')
    await other.query(
      "insert into users (tenant_id, email, full_name, role, password_hash) values (1, 'late@x.test', 'Late', 'nurse', '-')",
    )
    // The later transaction commits before the first one.
    await add(HERE, 1)
    const before = await remembered(HERE)
    await other.query('commit')
    expect(await counted(HERE)).toBe(before + 1)
    await other.query('begin')
    await other.query("delete from users where email = 'late@x.test'")
    await remembered(HERE)
    await other.query('rollback')
    expect(await remembered(HERE)).toBe(before + 1)
  })
})

const writes = async () =>
  (await sql<{ count: number }>('select count(*) from list_writes'))[0]?.count

test('the record of a write is kept until every node has seen it, and then deleted', async () => {
  const [node] = nodes as [Scopes]
  const before = await forgetWrites(node, undefined)
  expect(await writes()).toBeGreaterThan(0)
  const here = await remembered(HERE)
  await add(HERE, 1)
  // The transaction ID belongs to another cluster, as can happen in a copy of the data.
  await sql("insert into list_writes (xid, list, tenant_id) values ('9000000000000', 'users', 1)")
  const after = await forgetWrites(node, before)
  expect(await writes()).toBe(1)
  expect(await counted(HERE)).toBe(here + 1)
  await forgetWrites(node, after)
  expect(await writes()).toBe(0)
  expect(await remembered(HERE)).toBe(here + 1)
})

test('the upkeep deletes records of writes after four minutes, and none of the last two minutes', async () => {
  const [node] = nodes as [Scopes]
  const clock = frozenClock()
  let forgotten: Promise<unknown> = Promise.resolve()
  const watched: Scopes = {
    ...node,
    acrossTenants: (...asked) => {
      const done = node.acrossTenants(...asked)
      forgotten = done
      return done
    },
  }
  onTestFinished(await startUpkeep([listWritesUpkeep(watched)], { log: silentLog, clock }))
  const twoMinutes = async () => {
    clock.elapse(2 * 60_000)
    await forgotten
  }
  await add(HERE, 1)
  await twoMinutes()
  await add(HERE, 1)
  expect(await writes()).toBe(2)
  await twoMinutes()
  expect(await writes()).toBe(1)
})

describe('a list whose writes are not recorded', () => {
  const enter = (count: number) =>
    sql(
      `insert into journal (tenant_id, action, resource_type)
       select ${HERE}, 'department.created', 'department' from generate_series(1, ${count})`,
    )
  const listed = (page = 1) => {
    const [node] = nodes as [Scopes]
    const query: AuditQuery = {
      page,
      limit: 5,
      sort_by: 'created_at',
      sort_order: 'desc',
      action: ['department.created'],
    }
    const caller = { role: 'auditor' as const, tenant_id: HERE }
    const asked = { list: auditList, caller, query, from: undefined }
    return node.inTenant(
      HERE,
      (tx) => listEntries(tx, asked, { actions: ['department.created'] }),
      'filtered list',
    )
  }

  test('is counted each time if the total is exact, and an estimate is cached for ten seconds', async () => {
    for (const total of [7, 8]) {
      await enter(total === 7 ? 7 : 1)
      expect(await listed()).toMatchObject({ total, estimated: false })
    }
    await enter(10_000)
    const { total, estimated } = await listed()
    expect(estimated).toBe(true)
    await sql('analyze journal')
    await enter(20_000)
    await sql('analyze journal')
    expect((await listed()).total).toBe(total)
    // Checks that a page after the end of the list never shows an estimate.
    const triggers = async (change: 'enable' | 'disable') => {
      for (const table of ['journal', ...(await monthsOfJournal())])
        await sql(`alter table ${table} ${change} trigger user`)
    }
    await triggers('disable')
    await sql(`delete from journal where action = 'department.created'`)
    await triggers('enable')
    expect(await listed(2)).toMatchObject({ items: [], total: 0, estimated: false })
    await enter(30_000)
    await sql('analyze journal')
    const now = performance.now.bind(performance)
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_001)
    onTestFinished(() => clock.mockRestore())
    expect((await listed()).total).toBeGreaterThan(total)
  })
})

/** Returns all months of the journal, because a new month may have begun since the entries were written. */
async function monthsOfJournal(): Promise<string[]> {
  const months = await sql<{ month: string }>(
    `select inhrelid::regclass::text as month from pg_inherits where inhparent = 'journal'::regclass`,
  )
  return months.map(({ month }) => month)
}
