/** Two nodes on a primary and a standby, behind an address that leads to the wrong server for a while. */
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { newColleague, standing } from '../sessions/users.ts'
import { type Watch, watch } from '../support/client.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { databaseOn } from '../support/database.ts'
import { query } from '../support/embedded.ts'
import type { HttpAnswer } from '../support/process.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { openSwitch, type TcpSwitch } from '../support/tcp-switch.ts'
import { startTwoServers, type TwoServers } from '../support/two-servers.ts'
import { until } from '../support/until.ts'

let servers: TwoServers
let address: TcpSwitch
/** A service that is connected directly to the primary. */
let steady: Service
/** A service that is connected to the address, which may lead to either server. */
let moved: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  servers = await startTwoServers()
  address = await openSwitch(servers.primary)
  steady = await openService({ database: databaseOn(servers.primary) })
  moved = await openService({ database: databaseOn({ url: address.url }) })
  root = await superadmin(steady)
  clinic = await makeClinic(steady, root, 'north')
})

const asHttp = async (answering: Promise<Answer>): Promise<HttpAnswer> => {
  const { status, headers, body } = await answering
  return { status, body, headers: new Headers(headers as Record<string, string>) }
}

let count = 0
const create = () => {
  const body = { name: `Ward ${count++}` }
  return moved.call('POST', '/api/admin/departments', { token: clinic.people.admin.token, body })
}
const list = () => moved.call('GET', '/api/admin/departments', { token: clinic.people.admin.token })
const ready = async () => (await moved.call('GET', '/readyz')).status

/** Keeps reading and writing. Expects only successful answers and 503 with Retry-After. */
const watched = (): Watch<'read' | 'write' | 'me'> =>
  watch({
    read: () => asHttp(list()),
    write: () => asHttp(create()),
    me: () => asHttp(moved.call('GET', '/api/users/me', { token: clinic.people.nurse.token })),
  })

test('the service answers 503 while its database is a standby, and writes within 2 s after the promotion', async () => {
  const client = watched()
  await client.allWell()
  address.point(servers.standby)
  await client.refused('write')
  await delay(1_500)
  expect(await ready()).toBe(503)
  await delay(1_500)
  address.point(servers.primary)
  const back = performance.now()
  await until('it writes again', async () => (await create()).status === 201 || undefined)
  expect(performance.now() - back).toBeLessThan(2_000)
  await client.allWell()
  await client.stop()
  expect(client.wrong).toEqual([])
  await until('it is ready', async () => (await ready()) === 200 || undefined)
})

test('a node connected to a lagging standby still refuses a user who was blocked elsewhere', async () => {
  const person = await newColleague(steady, clinic)
  expect(await standing(moved, person.token)).toBe(200)
  await servers.replayed()
  await query(servers.standby, 'select pg_wal_replay_pause()')
  address.point(servers.standby)
  const block = `/api/admin/users/${person.id}/block`
  const blocked = await steady.call('POST', block, { token: clinic.people.admin.token })
  expect(blocked.status).toBe(200)
  await delay(1_000)
  const seen = new Set<number>()
  const watchFor = async (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; await delay(20))
      seen.add(await standing(moved, person.token))
  }
  await watchFor(1_000)
  await query(servers.standby, 'select pg_wal_replay_resume()')
  await servers.replayed()
  await watchFor(1_000)
  expect([...seen]).toEqual([503])
  address.point(servers.primary)
  await until('it answers', async () => (await standing(moved, person.token)) === 401 || undefined)
})

test('the service reports a primary that has become read-only, until that primary accepts writes again', async () => {
  const health = async () =>
    (await moved.call('GET', '/api/admin/health', { token: root.token })).body.checks?.database
  const isReadOnly = async (value: 'on' | 'off') => {
    await query(servers.primary, `alter system set default_transaction_read_only = ${value}`)
    await query(servers.primary, 'select pg_reload_conf()')
  }
  expect([await ready(), await health()]).toEqual([200, 'ok'])
  await isReadOnly('on')
  await until('it is not ready', async () => (await ready()) === 503 || undefined)
  await until('the report says so', async () => (await health()) === 'degraded' || undefined)
  expect((await create()).status).toBe(503)
  await isReadOnly('off')
  await until('it writes again', async () => (await create()).status === 201 || undefined)
  expect(await ready()).toBe(200)
  await until('the report is well', async () => (await health()) === 'ok' || undefined)
})

// This test must be the last, because the two servers differ afterwards.
test('the service stops using a former primary that is still running, although the listener is connected to it', async () => {
  const name = async () =>
    (
      await moved.call('GET', `/api/admin/departments/${clinic.departmentId}`, {
        token: clinic.people.admin.token,
      })
    ).body.name
  expect(await name()).toBe('Surgery')
  await servers.replayed()
  await query(servers.standby, 'select pg_promote()')
  const rename = `update departments set name = 'Promoted' where id = ${clinic.departmentId}`
  await query(servers.standby, rename)
  await steady.close()
  address.point(servers.standby, 'kept')
  const ofNode = `from pg_stat_activity where application_name = 'wardkeep' and datname = current_database()`
  // Ends all connections except the listener, which queries pg_locks as its heartbeat.
  const ofPools = `${ofNode} and query not like '%pg_locks%'`
  await query(servers.primary, `select pg_terminate_backend(pid) ${ofPools}`)
  await until('it reads from the promoted server', async () =>
    (await name()) === 'Promoted' ? true : undefined,
  )
  for (let times = 0; times < 20; times++) expect(await name()).toBe('Promoted')
  expect((await create()).status).toBe(201)
  await until('it has left the former primary', async () =>
    (await query(servers.primary, `select 1 ${ofNode}`)).length === 0 ? true : undefined,
  )
})
