/** Live sessions are known without a read; when a node cannot hear of changes, it reads again. */
import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { eventually, newColleague, standing } from './users.ts'

let here: Service
let far: Service
/** The server processes that listen for each of the nodes. */
let listenerOfFar: number
let clinic: Clinic

async function listeners(): Promise<number[]> {
  const rows = await here.database.sql<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'wardkeep'
       and query in ('select 1', 'listen wardkeep_changes')`,
  )
  return rows.map(({ pid }) => pid)
}

/** Whether the node believes that it hears of changes, as its health tells. */
async function hears(node: Service, token: string): Promise<boolean> {
  const { body } = await node.call('GET', '/api/admin/health', { token })
  return body.checks.changes === 'ok'
}

beforeAll(async () => {
  here = await openService()
  const known = await eventually(listeners, (pids) => pids.length === 1)
  far = await openService({ database: here.database })
  const both = await eventually(listeners, (pids) => pids.length === 2)
  listenerOfFar = both.find((pid) => !known.includes(pid)) as number
  clinic = await makeClinic(here, await superadmin(here), 'north')
})

/** A connection of the owner that outlives a database which takes no new ones. */
async function ownerConnection(): Promise<pg.Client> {
  const { address } = here.database
  const client = new pg.Client('url' in address ? { connectionString: address.url } : address)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

// Where the machine is too busy for the signs of life, a node rightly reads each time, and waits here.
describe('a session that is known', () => {
  test('is told of while nobody can read the tables it is in', { retry: 2 }, async () => {
    const person = await newColleague(here, clinic)
    for (const node of [here, far]) expect(await standing(node, person.token)).toBe(200)
    const owner = await ownerConnection()
    await owner.query('begin')
    await owner.query(
      'lock table sessions, users, tenants, refresh_tokens in access exclusive mode',
    )
    for (let times = 0; times < 50; times += 1)
      for (const node of [here, far])
        for (const path of ['/api/users/me', '/api/auth/me'])
          expect((await node.call('GET', path, { token: person.token })).body.id).toBe(person.id)
    await owner.query('rollback')
  })

  test('is read once, however many ask for it at the same time', { retry: 2 }, async () => {
    const person = await newColleague(here, clinic)
    const owner = await ownerConnection()
    await owner.query('begin')
    await owner.query('lock table sessions in access exclusive mode')
    const asked = Array.from({ length: 40 }, () => standing(far, person.token))
    const waiting = async () =>
      (
        await owner.query(
          `select 1 from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).rows.length
    await eventually(waiting, (count) => count > 0)
    expect(await waiting()).toBe(1)
    await owner.query('rollback')
    expect(new Set(await Promise.all(asked))).toEqual(new Set([200]))
  })
})

test('a node that cannot listen serves no session that has ended, and recovers', async () => {
  const admin = clinic.people.admin.token
  const owner = await ownerConnection()
  const allow = (connections: boolean) =>
    owner.query('update pg_database set datallowconn = $1 where datname = current_database()', [
      connections,
    ])
  const held = await newColleague(here, clinic)
  expect(await standing(far, held.token)).toBe(200)
  await eventually(() => hears(far, admin), Boolean)

  await allow(false)
  onTestFinished(async () => void (await allow(true)))
  await owner.query('select pg_terminate_backend($1)', [listenerOfFar])
  await eventually(
    () => hears(far, admin),
    (hearing) => !hearing,
  )
  await eventually(() => hears(here, admin), Boolean)

  // What it held from before is read again each time, and what ends is over in the same moment.
  for (let round = 0; round < 3; round += 1) {
    const person = await newColleague(here, clinic)
    expect(await standing(far, person.token)).toBe(200)
    await here.call('POST', '/api/auth/logout', { token: person.token })
    expect(await standing(far, person.token)).toBe(401)
  }
  await here.call('POST', `/api/admin/users/${held.id}/block`, { token: admin })
  expect(await standing(far, held.token)).toBe(401)
  const missed = await newColleague(here, clinic)
  expect(await standing(far, missed.token)).toBe(200)
  await here.call('POST', '/api/auth/logout', { token: missed.token })

  await allow(true)
  await eventually(
    () => hears(far, admin),
    (hearing) => hearing,
  )
  expect(await standing(far, held.token)).toBe(401)
  expect(await standing(far, missed.token)).toBe(401)
  const person = await newColleague(here, clinic)
  expect(await standing(far, person.token)).toBe(200)
  await here.call('POST', '/api/auth/logout', { token: person.token })
  await eventually(
    () => standing(far, person.token),
    (status) => status === 401,
  )
})
