/** The session cache. Its entries are valid only while the node receives notifications. */
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { eventually, hears, newColleague, ownerConnection, standing } from './users.ts'

let here: Service
let far: Service
let clinic: Clinic

beforeAll(async () => {
  // The service runs no background work, which would stop in the middle of a step while the clock is stopped.
  here = await openService()
  far = await openService({ database: here.database })
  clinic = await makeClinic(here, await superadmin(here), 'north')
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

/**
 * Stops the clock of the nodes' listeners while both receive notifications. The nodes neither send nor miss a heartbeat
 * until the clock moves.
 */
async function stoppedTime() {
  const admin = clinic.people.admin.token
  const clock = vi.spyOn(performance, 'now')
  const isQuiet = async () => {
    const busy = await here.database.sql(
      `select 1 from pg_stat_activity where datname = current_database() and state <> 'idle'
         and application_name = 'wardkeep' and (query like 'select pg_current_snapshot()%' or query = 'listen wardkeep_changes')`,
    )
    // One turn of the event loop delivers the bytes that the server has sent.
    for (let turns = 0; turns < 3; turns += 1) await turn()
    return busy.length === 0
  }
  let now = 0
  const start = () => {
    // Runs the pending timers, so that waiting code continues in real time.
    vi.runOnlyPendingTimers()
    vi.useRealTimers()
    clock.mockRestore()
  }
  const stop = async () => {
    now = performance.now()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldClearNativeTimers: true })
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    while (!(await isQuiet())) await turn()
    return (await hears(here, admin)) && (await hears(far, admin))
  }
  while (!(await stop())) {
    start()
    await eventually(async () => (await hears(here, admin)) && (await hears(far, admin)), Boolean)
  }
  onTestFinished(start)
  return {
    move(ms: number) {
      now += ms
    },
  }
}

describe('a cached session', () => {
  test('is used while the tables of sessions are locked', async () => {
    const person = await newColleague(here, clinic)
    await stoppedTime()
    for (const node of [here, far]) expect(await standing(node, person.token)).toBe(200)
    const owner = await ownerConnection(here)
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

  test('is trusted for 900 ms without notifications, and then read from the database', async () => {
    const person = await newColleague(here, clinic)
    const time = await stoppedTime()
    expect(await standing(far, person.token)).toBe(200)
    // No node is notified of this change.
    await here.database.sql('delete from sessions where user_id = $1', [person.id])
    expect(await standing(far, person.token)).toBe(200)
    time.move(900)
    expect(await standing(far, person.token)).toBe(401)
  })
})
