/**
 * Limits per caller, a time limit and separate connections keep the lists of one caller from slowing down other
 * callers.
 */
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { gate } from '../sessions/scopes.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { type Clinic, makeClinic, PASSWORD, signIn, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const POOL_SIZE = 4

let service: Service
let asking: Clinic
let other: Clinic

beforeAll(async () => {
  service = await openService({ config: { DATABASE_POOL_SIZE: POOL_SIZE } })
  const root = await superadmin(service)
  asking = await makeClinic(service, root, 'asking')
  other = await makeClinic(service, root, 'other')
  await list(asking.people.admin.token)
})

/**
 * Blocks the statements of user lists, as if they took a long time. Blocks nothing else. By default blocks lists with a
 * cached total.
 */
async function block(
  statement = 'lock table list_writes in access exclusive mode',
): Promise<() => Promise<void>> {
  const { address } = service.database
  const client = new pg.Client('url' in address ? { connectionString: address.url } : address)
  await client.connect()
  atTheEnd(() => client.end())
  await client.query(`begin; ${statement}`)
  return async () => void (await client.query('rollback'))
}

/** Returns how many statements of the service wait for the block. */
async function blocked(): Promise<number> {
  const [row] = await service.database.sql<{ count: number }>(
    `select count(*) from pg_stat_activity
     where datname = current_database() and application_name = 'wardkeep' and wait_event_type = 'Lock'`,
  )
  return row?.count ?? 0
}

/**
 * Waits until exactly two statements wait. Ignores the deadlock detector, which runs once for each waiting statement.
 */
const untilTwoWait = () =>
  until('two wait', async () => {
    const count = await blocked()
    expect(count).toBeLessThanOrEqual(2)
    return count === 2 || undefined
  })

const list = (token: string, query = {}) =>
  service.call('GET', '/api/admin/users', { token, query: { limit: 1, ...query } })

const signInElsewhere = () =>
  signIn(service, {
    email: other.people.nurse.email,
    password: PASSWORD,
    subdomain: other.subdomain,
  })

test("only two of an auditor's forty concurrent lists run at a time, so that others can sign in and read", async () => {
  const release = await block()
  const { token } = asking.people.auditor
  const lists = Array.from({ length: 40 }, (_, index) => list(token, { page: 1 + index }))
  await untilTwoWait()
  const { access_token } = await signInElsewhere()
  expect((await service.call('GET', '/api/users/me', { token: access_token })).status).toBe(200)
  const theirs = await service.call('GET', '/api/admin/users', { token: other.people.admin.token })
  expect(theirs.status).toBe(200)
  await untilTwoWait()
  await release()
  for (const list of await Promise.all(lists)) expect(list.status).toBe(200)
})

test("only two of a nurse's ten concurrent preference changes run at a time, so that others can save theirs", async () => {
  const { token, id } = asking.people.nurse
  const save = (by: string, turn: number) =>
    service.call('PUT', '/api/preferences', { token: by, body: { settings: { turn } } })
  await save(token, 0)
  const release = await block(`select from preferences where user_id = ${id} for update`)
  const saved = Array.from({ length: 10 }, (_, turn) => save(token, 1 + turn))
  await untilTwoWait()
  for (const turn of [1, 2]) expect((await save(other.people.nurse.token, turn)).status).toBe(200)
  await untilTwoWait()
  await release()
  for (const one of await Promise.all(saved)) expect(one.status).toBe(200)
})

test('a list that takes longer than 3 s gets 503, with the advice to use narrower filters', async () => {
  const release = await block()
  const answer = await list(asking.people.admin.token)
  await release()
  expect(answer.status).toBe(503)
  expect(answer.headers['retry-after']).toBe('1')
  expect(answer.body).toEqual({
    detail: expect.stringMatching(/Narrow it with filters/),
    code: 'busy',
  })
})

test('sign-in, refresh, new sessions and sign-out work while all other database connections are in use', async () => {
  const { pass, open } = gate()
  let taken = 0
  const held = Array.from({ length: POOL_SIZE }, () =>
    service.app.db.inTenant(asking.id, async () => {
      taken += 1
      await pass
    }),
  )
  await until('all are taken', async () => taken === POOL_SIZE)
  const tokens = await signInElsewhere()
  const call = (method: string, path: string, token: string, body?: object) =>
    service.call(method, path, { token, ...(body ? { body } : {}) })
  expect((await call('GET', '/api/users/me', tokens.access_token)).status).toBe(200)
  expect((await call('GET', '/api/auth/sessions', tokens.access_token)).status).toBe(200)
  const { refresh_token } = tokens
  const refreshed = await service.call('POST', '/api/auth/refresh', { body: { refresh_token } })
  expect(refreshed.status).toBe(200)
  const { access_token } = refreshed.body
  expect((await call('POST', '/api/auth/logout', access_token, {})).status).toBe(200)
  expect((await call('GET', '/api/users/me', access_token)).status).toBe(401)
  open()
  await Promise.all(held)
})

test('every operation with the parameter `after` counts as a list', () => {
  const paged = service.app.operations.filter(({ query }) => query?.properties?.after)
  expect(paged.length).toBeGreaterThan(3)
  expect(paged.filter((op) => !op.list).map((op) => op.id)).toEqual([])
})
