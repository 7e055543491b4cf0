/**
 * Roles of the service with too many rights. The test uses a separate server, because all databases of a server share
 * their roles.
 */
import { beforeAll, expect, it } from 'vitest'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { databaseOn } from '../support/database.ts'
import { started } from '../support/embedded.ts'
import { scratch } from '../support/scratch.ts'
import { silentLog } from '../support/server-address.ts'
import { type Bench, openBench } from './scene.ts'

const KEY = 'database.schema'
let bench: Bench
const sql = <T extends Record<string, unknown>>(text: string) => bench.database.sql<T>(text)

beforeAll(async () => {
  const { connection } = await started(await scratch())
  await migrate(connection, silentLog)
  bench = await openBench(databaseOn(connection))
})

it('the role check does not report a member of a service role that owns another database', async () => {
  await sql(`create role neighbour login; grant wardkeep_app, wardkeep_platform to neighbour`)
  expect((await bench.look(KEY)).findings).toHaveLength(2)
  await sql('create database theirs owner neighbour')
  await bench.differ()
})

it('the role check reports added attributes and memberships of a service role', async () => {
  await sql(`alter role wardkeep_app bypassrls login; alter role wardkeep_platform superuser;
    create role "to; drop table users" login; create role granter createrole;
    grant wardkeep_app to granter with admin option;
    set role granter; grant wardkeep_app to "to; drop table users"; reset role;
    grant pg_read_all_data to wardkeep_app`)
  const findings = await bench.differ(
    'role wardkeep_app',
    'role wardkeep_platform',
    'membership of granter in wardkeep_app',
    'membership of "to; drop table users" in wardkeep_app',
    'membership of wardkeep_app in pg_read_all_data',
  )
  expect(findings).toContainEqual({
    tenant_id: null,
    subject: 'role wardkeep_app',
    measured: {
      state: 'surplus',
      statement: 'ALTER ROLE wardkeep_app BYPASSRLS;\nALTER ROLE wardkeep_app LOGIN;',
    },
    expected: { state: 'absent' },
  })
})
