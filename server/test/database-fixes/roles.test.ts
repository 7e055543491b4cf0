/** What the service's roles may beyond what they were made for: on a server of the test's own, as all of one share them. */
import { beforeAll, expect, it } from 'vitest'
import type { EmbeddedServer } from '../../src/platform/db/embedded/index.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { databaseOn } from '../support/database.ts'
import { started } from '../support/embedded.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { type Bench, openBench } from './bench.ts'

const KEY = 'database.roles'
let connection: EmbeddedServer['connection']
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

beforeAll(async () => {
  connection = (await started(await scratch())).connection
  await migrate(connection, silentLog)
  bench = await openBench(databaseOn(connection))
})

it('as the migrations leave them nothing is seen, nor of owners of other databases', async () => {
  await sql(`create role neighbour login; grant wardkeep_app, wardkeep_platform to neighbour`)
  expect((await bench.look(KEY)).findings).toHaveLength(2)
  await sql('create database theirs owner neighbour')
  expect(Object.values(await bench.lookAtAll()).flat()).toEqual([])
})

it('what a role was given is told of as it stands, and taken back', async () => {
  await sql('alter role wardkeep_app bypassrls login; alter role wardkeep_platform superuser')
  const findings = await bench.mend(KEY, 'role wardkeep_app', 'role wardkeep_platform')
  expect(findings[0]).toEqual({
    tenant_id: null,
    subject: 'role wardkeep_app',
    measured: {
      state: 'surplus',
      statement: 'ALTER ROLE wardkeep_app BYPASSRLS;\nALTER ROLE wardkeep_app LOGIN;',
    },
    expected: { state: 'absent' },
  })
  const attributes = `select rolsuper or rolbypassrls or rolcanlogin or rolcreaterole as more
    from pg_roles where rolname in ('wardkeep_app', 'wardkeep_platform')`
  expect(await sql(attributes)).toEqual([{ more: false }, { more: false }])
})

it('memberships are taken away, whoever granted them and whatever the roles are called', async () => {
  await sql(`create role "to; drop table users" login; create role granter createrole;
    grant wardkeep_app to granter with admin option;
    set role granter; grant wardkeep_app to "to; drop table users"; reset role;
    grant pg_read_all_data, wardkeep_platform to wardkeep_app`)
  await bench.mend(
    KEY,
    'membership of granter in wardkeep_app',
    'membership of "to; drop table users" in wardkeep_app',
    'membership of wardkeep_app in pg_read_all_data',
    'membership of wardkeep_app in wardkeep_platform',
  )
  // The neighbour and the owner have them still.
  expect(
    await sql('select from pg_auth_members where roleid::regrole::text like $$ward%$$'),
  ).toHaveLength(4)
})

it('an owner who may not take it back says so, and leaves it as it was', async () => {
  await sql(`create role keeper login createrole;
    grant wardkeep_app, wardkeep_platform to keeper with admin option`)
  await sql('create database kept owner keeper')
  const kept = databaseOn({ ...connection, user: 'keeper', database: 'kept' })
  await migrate(kept.address, silentLog)
  const keeper = await openBench(kept)
  expect((await keeper.look(KEY)).findings).toEqual([])
  await sql('alter role wardkeep_platform bypassrls')
  const [finding] = (await keeper.look(KEY)).findings
  if (!finding) throw new Error('nothing is seen')
  await expect(keeper.repair(KEY, finding)).rejects.toThrow('a superuser does')
  expect((await keeper.look(KEY)).findings).toEqual([finding])
  await bench.mend(KEY, 'role wardkeep_platform')
  expect(await keeper.repair(KEY, finding)).toBe('already gone')
})
