/** A node that receives no notifications reads each session from the database until it recovers. */
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { eventually, hears, newColleague, ownerConnection, standing } from './users.ts'

let here: Service
let far: Service
/** The database server process of each node's listener connection. */
let listenerOfFar: number
let clinic: Clinic

async function listeners(): Promise<number[]> {
  const rows = await here.database.sql<{ pid: number }>(
    `select pid from pg_stat_activity
     where datname = current_database() and application_name = 'wardkeep'
       and (query like 'select pg_current_snapshot()%' or query = 'listen wardkeep_changes')`,
  )
  return rows.map(({ pid }) => pid)
}

beforeAll(async () => {
  here = await openService()
  const known = await eventually(listeners, (pids) => pids.length === 1)
  far = await openService({ database: here.database })
  const both = await eventually(listeners, (pids) => pids.length === 2)
  listenerOfFar = both.find((pid) => !known.includes(pid)) as number
  clinic = await makeClinic(here, await superadmin(here), 'north')
})

test('a node that has lost its listener accepts no ended session from its cache, and works normally once reconnected', async () => {
  const admin = clinic.people.admin.token
  const owner = await ownerConnection(here)
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

  // The node reads every session from the database, so it refuses an ended session at once.
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
