/**
 * Every page of a list is read along an index: no order of any list, in any direction and scope, on
 * its first page or behind a `next`, sorts anything or walks through a table. Seen in the plans of the
 * statements as they are sent, planned once for all values where that is how they run.
 */
import { sql } from 'kysely'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { auditList } from '../../src/features/audit/audit.schema.ts'
import { listEntries } from '../../src/features/audit/audit.store.ts'
import { departmentList } from '../../src/features/departments/departments.schema.ts'
import { listDepartments } from '../../src/features/departments/departments.store.ts'
import { accessList } from '../../src/features/patients/accesses/accesses.schema.ts'
import { listAccesses } from '../../src/features/patients/accesses/accesses.store.ts'
import { patientList } from '../../src/features/patients/patients.schema.ts'
import { listPatients } from '../../src/features/patients/search/search.store.ts'
import { userList } from '../../src/features/users/users.schema.ts'
import { listUsers } from '../../src/features/users/users.store.ts'
import { listDeliveries } from '../../src/features/webhooks/deliveries/deliveries.store.ts'
import { deliveryList } from '../../src/features/webhooks/webhooks.schema.ts'
import type { Asked, List } from '../../src/lib/page.ts'
import { openPool } from '../../src/platform/db/connection.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { queriesOn, type Statement } from '../../src/platform/db/statements.ts'
import { openTotals } from '../../src/platform/db/totals.ts'
import { atTheEnd } from '../support/at-the-end.ts'
import { endingPool, migratedDatabase, type TestDatabase } from '../support/database.ts'

const BIG = 1

let client: pg.PoolClient

beforeAll(async () => {
  const database = await migratedDatabase()
  await database.sql(`
    insert into tenants (id, name, subdomain) select n, 't', 't' || n from generate_series(1, 101) n;
    insert into users (tenant_id, email, full_name, role, password_hash)
      select case when n <= 15000 then 1 else 2 + n % 100 end, 'u' || n || '@x.test', 'User ' || n % 4000,
        (array['doctor', 'nurse', 'receptionist'])[1 + n % 3], '-' from generate_series(1, 20000) n;
    insert into departments (tenant_id, name)
      select case when n <= 4000 then 1 else 2 + n % 100 end, 'd' || n from generate_series(1, 6000) n;
    insert into journal (tenant_id, user_id, action, resource_type, created_at)
      select 1 + n % 3, n % 50, 'user.updated', 'user', now() + n * interval '1 minute'
      from generate_series(1, 40000) n;
    select ensure_webhook_partitions(current_date, current_date + 3);
    insert into webhooks (id, tenant_id, url, events) select n, 1, 'https://x.test', '{}' from generate_series(1, 3) n;
    insert into webhook_deliveries (tenant_id, webhook_id, entry_id, event_at, event, due_at)
      select 1, 1 + n % 3, n, now() + n % 3 * interval '1 day', 'user.updated', now()
      from generate_series(1, 9000) n;
    insert into key_encryption_keys (id, wrapped_key) values (1, '');
    insert into data_keys (id, tenant_id, key_encryption_key_id, wrapped_key) values (1, 1, 1, '');
    insert into patients (tenant_id, department_id, sealed_full_name, sealed_identifiers, sealed_allergies)
      select 1, (select min(id) from departments where tenant_id = 1) + n % 50, s, s, s
      from generate_series(1, 9000) n, (select '\\x02'::bytea || int8send(1)) k (s);
    insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id)
      select 1, id, 1, decode(md5(id::text), 'hex'), 1 from patients;
    analyze`)
  client = await connectionTo(database)
})

/** A connection as requests have them: its settings decide on plans as well. */
async function connectionTo({ address }: TestDatabase): Promise<pg.PoolClient> {
  const connection = await endingPool(openPool(address, 1)).connect()
  atTheEnd(() => connection.release())
  return connection
}

/** The statements that a list sends; their answers are empty. */
async function sentBy(tenantId: number | null, run: (tx: TenantTx) => Promise<unknown>) {
  const sent: pg.QueryConfig[] = []
  const sendFor = ({ sql, parameters }: Statement) => {
    sent.push({ text: sql, values: [...parameters] })
    return { rows: Promise.resolve([]) }
  }
  const db = queriesOn(() => Promise.reject(new Error('an empty page is all that is asked for')))
  const tx = { db, tenantId, totals: openTotals(), sendFor, end: () => undefined }
  await run(tx as unknown as TenantTx)
  return sent
}

/** A value as PostgreSQL reads it in a literal. */
function inText(value: unknown): string {
  if (Buffer.isBuffer(value)) return `\\x${value.toString('hex')}`
  if (Array.isArray(value)) return `{${value.map((one) => JSON.stringify(inText(one))).join(',')}}`
  return String(value)
}

/** The plan of a statement in a scope: for all values, or for its own, as lists with filters are planned. */
async function planOf(
  tenantId: number | null,
  { text, values = [] }: pg.QueryConfig,
  connection = client,
  mode = 'force_generic_plan',
) {
  const role = tenantId === null ? 'wardkeep_platform' : 'wardkeep_app'
  await connection.query(`begin read only; set local role ${role};
    set local wardkeep.tenant_id = '${tenantId ?? ''}'; set local plan_cache_mode = ${mode}`)
  try {
    const literals = values.map((value) => pg.escapeLiteral(inText(value))).join(', ')
    await connection.query(`prepare page as ${text}`)
    const { rows } = await connection.query(
      `explain execute page${literals === '' ? '' : `(${literals})`}`,
    )
    return rows.map((row) => row['QUERY PLAN'] as string).join('\n')
  } finally {
    await connection.query('rollback; deallocate all')
  }
}

type Run = (tx: TenantTx, asked: Asked<any>) => Promise<unknown>

const lists: [string, List<any>, Run, scopes: readonly (number | null)[]][] = [
  ['users', userList, listUsers, [BIG, null]],
  ['departments', departmentList, listDepartments, [BIG]],
  ['audit', auditList, (tx, asked) => listEntries(tx, asked, {}), [BIG, null]],
  [
    'patients',
    patientList,
    (tx, asked) => listPatients(tx, asked, { sight: { condition: sql`true` } }),
    [BIG],
  ],
  ['deliveries', deliveryList(1), (tx, asked) => listDeliveries(tx, 1, {}, asked), [BIG]],
]

/** The time is now, because it has to lie within the partitions of the journal. */
const VALUES = { integer: 100, text: 'User 77', time: new Date().toISOString() }

/** Decision 0016: no index of the journal has it, and it is planned for its tenant. */
const isSorted = (name: string, sortBy: string, scope: number | null) =>
  name === 'audit' && sortBy === 'id' && scope !== null

const pages = lists.flatMap(([name, list, run, scopes]) =>
  scopes.flatMap((scope) =>
    Object.entries(list.sortable).flatMap(([sort_by, kind]) =>
      isSorted(name, sort_by, scope)
        ? []
        : (['asc', 'desc'] as const).flatMap((sort_order) =>
            ['the first page', 'a page behind a next'].map((which) => {
              const key = [VALUES[kind], ...(sort_by === 'id' ? [] : [100])]
              const asked = {
                list,
                caller: { role: 'admin' as const, tenant_id: BIG },
                query: { limit: 20, sort_by, sort_order },
                from:
                  which === 'the first page'
                    ? undefined
                    : { key, page: 2, total: 0, estimated: false },
              }
              const where = scope === null ? 'all tenants' : 'a tenant'
              return {
                title: `${which} of ${name} of ${where} by ${sort_by}, ${sort_order}`,
                scope,
                asked,
                run,
              }
            }),
          ),
    ),
  ),
)

describe('along an index, without sorting, is read', () => {
  test.each(pages)('$title', async ({ scope, asked, run }) => {
    const [page] = await sentBy(scope, (tx) => run(tx, asked))
    const plan = await planOf(scope, page as pg.QueryConfig)
    expect(plan).toMatch(/Index( Only)? Scan/)
    // Of the few tenants that are deleted it may look at all.
    expect(plan).not.toMatch(/(^|-> +)(Incremental )?Sort\b|Seq Scan on (?!tenants)|Bitmap/m)
    if (asked.from) expect(plan).toMatch(/Index Cond: .*ROW\(|Index Cond: .*(id|entry_id) [<>]/)
  })
})

test("a department's patients are read along an index by their number", async () => {
  const asked = {
    list: patientList,
    caller: { role: 'doctor' as const, tenant_id: BIG },
    query: { limit: 20, sort_by: 'id' as const, sort_order: 'asc' as const },
    from: undefined,
  }
  const condition = sql<boolean>`patients.department_id = 7`
  const sight = { condition, narrowedTo: 'department 7' }
  const [page] = await sentBy(BIG, (tx) => listPatients(tx, asked, { sight }))
  const plan = await planOf(BIG, page as pg.QueryConfig)
  expect(plan).toMatch(/Index Scan using patients__by_department/)
  expect(plan).not.toMatch(/Sort/)
})

test('who is searched for is found by the tokens alone, whatever is known of the tables, and under row-level security', async () => {
  const asked = {
    list: patientList,
    caller: { role: 'admin' as const, tenant_id: BIG },
    query: { limit: 20, sort_by: 'id' as const, sort_order: 'asc' as const, search: 'x' },
    from: undefined,
  }
  const text = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
  const sight = { condition: sql<boolean>`true` }
  const [page] = await sentBy(BIG, (tx) => listPatients(tx, asked, { sight, text }))
  const foreign = await connectionTo(await migratedDatabase())
  for (const connection of [client, foreign]) {
    const plan = await planOf(BIG, page as pg.QueryConfig, connection)
    expect(plan).toMatch(/patient_tokens__by_token/)
    expect(plan).toMatch(/Index Cond: .*token = ANY/)
    expect(plan).toMatch(/Index Scan using patients_(pkey|_living) on patients/)
    expect(plan).not.toMatch(/Seq Scan/)
    // Of an empty table PostgreSQL 15 takes any index for as good.
    if (connection === client) expect(plan).toMatch(/Index Cond: .*id = ANY/)
  }
})

test('who saw a patient is read along the indexes of that patient, whatever else the clinic has done', async () => {
  const database = await migratedDatabase()
  await database.sql(`
    insert into tenants (id, name, subdomain) values (1, 't', 't1');
    insert into journal (tenant_id, action, resource_type, resource_id, is_access)
      select 1, 'patient.read', 'patient', (n % 2000)::text, true from generate_series(1, 30000) n;
    insert into journal (tenant_id, action, resource_type, is_access)
      select 1, 'patient.listed', 'patient', true from generate_series(1, 10000) n;
    insert into journal_resources (tenant_id, resource_type, resource_id, created_at, entry_id)
      select 1, 'patient', p, created_at, id from journal, (values (7), (8)) v (p)
      where action = 'patient.listed';
    analyze`)
  const connection = await connectionTo(database)
  for (const key of [undefined, ['9999-12-31T23:59:59.999Z', 100]]) {
    const asked = {
      list: accessList,
      caller: { role: 'admin' as const, tenant_id: BIG },
      query: { limit: 20, sort_by: 'created_at' as const, sort_order: 'desc' as const },
      from: key && { key, page: 2, total: 0, estimated: false },
    }
    const [page] = await sentBy(BIG, (tx) => listAccesses(tx, 7, asked))
    const plan = await planOf(BIG, page as pg.QueryConfig, connection)
    expect(plan).toMatch(/Index Only Scan Backward using journal_resources_\w+_pkey/)
    expect(plan).toMatch(/Index Scan Backward using journal_\w+_action_resource_type_resource_hash/)
    expect(plan).not.toMatch(/Join|_tenant_id_created_at_id_is_access_action_idx/)
  }
})

test('a clinic that is one of a few reads none but its own users', async () => {
  const database = await migratedDatabase()
  await database.sql(`
    insert into tenants (id, name, subdomain) select n, 't', 't' || n from generate_series(1, 5) n;
    insert into users (tenant_id, email, full_name, role, password_hash)
      select 1 + n / 1000, 'u' || n || '@x.test', 'User', 'nurse', repeat('-', 97) from generate_series(0, 4999) n;
    analyze`)
  const asked = {
    list: userList,
    caller: { role: 'admin' as const, tenant_id: 5 },
    query: { limit: 20, sort_by: 'id' as const, sort_order: 'asc' as const },
    from: undefined,
  }
  const [page] = await sentBy(5, (tx) => listUsers(tx, asked))
  const plan = await planOf(5, page as pg.QueryConfig, await connectionTo(database))
  expect(plan).toMatch(/Index Cond: \(tenant_id = /)
})

test('blocked users of all clinics are read along an index of theirs', async () => {
  const database = await migratedDatabase()
  await database.sql(`
    insert into tenants (id, name, subdomain) select n, 't', 't' || n from generate_series(1, 20) n;
    insert into users (tenant_id, email, full_name, role, password_hash, is_active)
      select 1 + n / 1000, 'u' || n || '@x.test', 'User', 'nurse', repeat('-', 97), n % 100 > 0
      from generate_series(0, 19999) n;
    analyze`)
  const asked = {
    list: userList,
    caller: { role: 'superadmin' as const, tenant_id: 1 },
    query: { limit: 20, sort_by: 'email' as const, sort_order: 'asc' as const, is_active: false },
    from: undefined,
  }
  const [page] = await sentBy(null, (tx) => listUsers(tx, asked))
  const connection = await connectionTo(database)
  const plan = await planOf(null, page as pg.QueryConfig, connection, 'force_custom_plan')
  expect(plan).toMatch(/Index Scan using users__all_blocked/)
  expect(plan).not.toMatch(/Sort|is_active/)
})
