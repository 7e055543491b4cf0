/**
 * A database keeps its connections open but does not respond. Requests are answered within a limit, and other work
 * waits.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { goldenDatabase, type TestDatabase } from '../support/database.ts'
import { type DatabaseProxy, proxyTo } from '../support/database-proxy.ts'
import { type Answer, openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/** The longest that a request may wait for a silent database. */
const LIMIT_MS = 5_000

let database: TestDatabase
let proxy: DatabaseProxy
let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  database = await goldenDatabase()
  proxy = await proxyTo(database)
  service = await openService({ database: { ...database, address: { url: proxy.url } } })
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'north')
})

let count = 0
const create = () =>
  service.call('POST', '/api/admin/departments', {
    token: clinic.people.admin.token,
    body: { name: `Ward ${count++}` },
  })

/** Requests that use the database in different ways: cached sessions, lists, writes, sign-in, journal, probes. */
const requests = (): Promise<Answer>[] => {
  const { admin, doctor, nurse } = clinic.people
  const credentials = { email: nurse.email, password: nurse.password, subdomain: clinic.subdomain }
  return [
    create(),
    service.call('GET', '/api/admin/departments', { token: admin.token }),
    service.call('GET', '/api/users/me', { token: nurse.token }),
    service.call('GET', '/api/patients', { token: doctor.token }),
    service.call('GET', '/api/admin/overview', { token: root.token }),
    service.call('POST', '/api/auth/login', { body: credentials }),
    service.call('POST', '/api/auth/refresh', { body: { refresh_token: nurse.refresh } }),
    service.call('GET', '/readyz'),
  ]
}

/** Measures a request. A 503 with Retry-After counts as refused. Answers from the cache are also allowed. */
async function timed(answering: Promise<Answer>) {
  const start = performance.now()
  const { status, headers } = await answering
  const isRefused = status === 503 && Number(headers['retry-after']) > 0
  return { status, isRefused, ms: performance.now() - start }
}

test('while the database does not respond, every request gets 503 within 5 s, and writes resume afterwards', async () => {
  await Promise.all(requests())
  proxy.stall()
  const waves: ReturnType<typeof timed>[] = []
  // The first requests use connections that have become silent, the second meet a full pool, and the last are refused
  // at once.
  for (const pause of [0, 1_000, 2_000]) {
    await delay(pause)
    waves.push(...[...requests(), ...requests(), ...requests()].map(timed))
  }
  const [last, answers] = [timed(create()), await Promise.all(waves)]
  expect(answers.filter(({ status, isRefused }) => status !== 200 && !isRefused)).toEqual([])
  expect(await last).toMatchObject({ isRefused: true })
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(LIMIT_MS)
  await proxy.open()
  await until('it writes again', async () => (await create()).status === 201 || undefined)
})

test('a slow query is not aborted while the listener gets notifications', async () => {
  const { db } = service.app
  const slow = db.inTenant(clinic.id, (tx) => sql`select pg_sleep(4)`.execute(tx.db), 'read')
  expect((await slow).rows).toHaveLength(1)
})

test('background work waits while the database does not respond', async () => {
  const { db } = service.app
  const begun = Promise.withResolvers<void>()
  const work = (scopes: typeof db) =>
    scopes.acrossTenants(async (tx) => {
      const found = sql`select pg_sleep(1)`.execute(tx.db)
      begun.resolve()
      return (await found).rows.length
    }, 'read')
  const waiting = work(db.withPatience())
  await begun.promise
  await delay(500)
  proxy.stall()
  await expect(work(db)).rejects.toThrow()
  await proxy.open()
  expect(await waiting).toBe(1)
  await until('it writes again', async () => (await create()).status === 201 || undefined)
})
