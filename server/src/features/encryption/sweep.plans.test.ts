/** How what is left is looked for, where all that was is dead and lies there: by which index, and in how many pages. */
import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { atTheEnd } from '../../../test/support/at-the-end.ts'
import { migratedDatabase } from '../../../test/support/database.ts'
import { listenerClient, PLATFORM_ROLE } from '../../platform/db/connection.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import { queriesOn, type Statement } from '../../platform/db/statements.ts'
import * as store from './sweep.store.ts'

const PATIENTS = 10_000
const [OLD, NEW] = [1, 2]
const TOKENS = { table: 'patient_tokens', of: 'patient_id' }

let client: pg.Client

/** Sealed by the key, as far as the database can tell. */
const sealedBy = (key: number) => `'\\x02'::bytea || int8send(${key})`

beforeAll(async () => {
  const database = await migratedDatabase()
  await database.sql(`
    insert into tenants (id, name, subdomain) values (1, 't', 't1');
    insert into key_encryption_keys (id, wrapped_key) values (1, '');
    insert into data_keys (id, tenant_id, key_encryption_key_id, wrapped_key, retired_at)
      values (${OLD}, 1, 1, '', now()), (${NEW}, 1, 1, '', null);
    alter table patients set (autovacuum_enabled = false);
    alter table patient_tokens set (autovacuum_enabled = false);
    insert into patients (tenant_id, sealed_full_name, sealed_identifiers, sealed_allergies)
      select 1, s, s, s from generate_series(1, ${PATIENTS}) n, (select ${sealedBy(OLD)}) k (s);
    insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id)
      select 1, id, kind, decode(md5(kind || '-' || id), 'hex'), ${OLD} from patients, (values (1), (2)) k (kind);
    analyze`)
  // As a sweep leaves them: their statistics are those of before.
  await database.sql(`
    update patients set (sealed_full_name, sealed_identifiers, sealed_allergies) =
      (select s, s, s from (select ${sealedBy(NEW)}) k (s))`)
  client = listenerClient(database.address)
  await client.connect()
  atTheEnd(() => client.end())
})

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  Plans?: Plan[]
}

/** How the tables of a plan are read: by an index, or otherwise. */
function waysOf(plan: Plan): string[] {
  const { 'Relation Name': table, 'Index Name': index = plan['Node Type'] } = plan
  return [...(table ? [`${table}: ${index}`] : []), ...(plan.Plans ?? []).flatMap(waysOf)]
}

/** Runs the work in a transaction. Answers how many pages its statements have read, and how. */
async function costOf<T>(work: (tx: TenantTx) => Promise<T>) {
  let pages = 0
  const ways: string[] = []
  const watch = async ({ sql, parameters }: Statement) => {
    const values = [...parameters]
    await client.query('savepoint before')
    const { rows } = await client.query(
      `explain (analyze, buffers, timing off, format json) ${sql}`,
      values,
    )
    await client.query('rollback to before')
    const plan = rows[0]['QUERY PLAN'][0].Plan
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    ways.push(...waysOf(plan))
    return client.query(sql, values)
  }
  await client.query(`begin; set local role ${PLATFORM_ROLE}`)
  const value = await work({ db: queriesOn(watch) } as unknown as TenantTx)
  await client.query('commit')
  return { pages, ways, value }
}

test.each<[string, (tx: TenantTx) => Promise<unknown>]>([
  ['by key', (tx) => store.keysLeft(tx, 'patients')],
  ['at all', (tx) => store.areLeft(tx, ['patients'])],
  ['by number', (tx) => store.countLeft(tx, 'patients')],
])('that nothing is left %s is told by the index of keys, not by the table', async (_, look) => {
  const { ways } = await costOf(look)
  expect(ways.filter((way) => way.startsWith('patients'))).toEqual([
    'patients: patients__by_data_key',
  ])
})

test('what is left is found and counted', async () => {
  await client.query(`begin; set local role ${PLATFORM_ROLE}`)
  await client.query(
    `update patients set (sealed_full_name, sealed_identifiers, sealed_allergies) =
       (select s, s, s from (select ${sealedBy(OLD)}) k (s)) where id in (7, ${PATIENTS})`,
  )
  const tx = {
    db: queriesOn(({ sql, parameters }) => client.query(sql, [...parameters])),
  } as unknown as TenantTx
  expect(await store.keysLeft(tx, 'patients')).toEqual([{ id: OLD, tenant_id: 1 }])
  expect(await store.areLeft(tx, ['patient_grants', 'patients'])).toBe(true)
  expect(await store.countLeft(tx, 'patients')).toBe(2)
  await client.query('rollback')
})

test('the last batch of old tokens reads no more than the first', async () => {
  const some = (from: store.Position, limit: number) =>
    costOf((tx) => store.deleteTokens(tx, TOKENS, OLD, from, limit))
  const first = await some(null, 20)
  expect(first.value).toEqual({ count: 20, last: 10 })
  // Of the last patient one token is left to the next.
  const most = await some(first.value.last, 2 * PATIENTS - 61)
  expect(most.value).toEqual({ count: 2 * PATIENTS - 61, last: PATIENTS - 20 })
  const last = await some(most.value.last, 20)
  expect(last.value).toEqual({ count: 20, last: PATIENTS - 10 })
  expect(last.pages).toBeLessThan(1.5 * first.pages)
  expect((await some(last.value.last, 100)).value).toEqual({ count: 21, last: null })
  expect((await some(null, 100)).value).toEqual({ count: 0, last: null })
})
