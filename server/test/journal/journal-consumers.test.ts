/**
 * A journal reader that falls behind. The health check names the cause, and an operator can end a blocking transaction.
 */
import { sql } from 'kysely'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { MINUTE } from '../../src/lib/clock.ts'
import { type DatabaseAddress, LOCKS, ownerClient } from '../../src/platform/db/index.ts'
import type { Finding } from '../../src/platform/feature/fix.ts'
import { openReaders } from '../../src/platform/journal/index.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { databaseOn, migratedDatabase } from '../support/database.ts'
import { started } from '../support/embedded.ts'
import { untilRead } from '../support/journal.ts'
import { openReceiver } from '../support/receiver.ts'
import { scratch } from '../support/scratch.ts'
import { findings, fixOf, look, repair } from '../support/self-healing-fixes.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
let clinic: Clinic

beforeAll(async () => {
  service = await openService({ background: ['webhooks'] })
  clinic = await makeClinic(service, await superadmin(service), 'north')
})

/** Returns the fixes and the health of the webhooks' reader as they are some minutes later. */
function later(of: Service, minutes: number, waits = false) {
  const clock = { now: () => Date.now() + minutes * MINUTE }
  const readers = openReaders({ db: of.app.db, clock, waits: () => waits })
  readers.add('webhooks')
  const fix = (key: string) => fixOf(readers.fixes, key)
  return {
    fix,
    find: (key: string) => findings(of.app.db, fix(key)),
    all: async () =>
      (await Promise.all(readers.fixes.map((one) => findings(of.app.db, one)))).flat(),
    looked: async (key: string) => (await look(of.app.db, fix(key))).looked_at,
    /** Returns the state of the health check after a poll. */
    health: async () => {
      await readers.upkeep.run()
      return readers.check()
    },
    repair: (key: string, finding: Finding) => repair(of.app.db, fix(key), finding),
  }
}

async function isWell(minutes = 10): Promise<void> {
  // Waits, because a transaction of another database can briefly delay the reading of entries.
  await untilRead(service.database, 'webhooks')
  await until(
    'nothing is found',
    async () => (await later(service, minutes).all()).length === 0 || undefined,
  )
}

let renamed = 0
const write = async () => {
  renamed += 1
  const answer = await service.call('PUT', `/api/admin/tenants/${clinic.id}`, {
    token: clinic.people.admin.token,
    body: { name: `Clinic ${renamed}` },
  })
  expect(answer.status).toBe(200)
}

/** Opens a connection to the database that has written a row and does not commit. */
async function holder(lock?: number) {
  const client = ownerClient(service.database.address)
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end().catch(() => undefined))
  await client.query(`set application_name = 'import by anna@clinic.test'`)
  if (lock !== undefined) await client.query('select pg_advisory_lock($1, 7)', [lock])
  const begin = async () => {
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
  }
  await begin()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return { client, begin, pid: rows[0]?.pid }
}

test('the check of journal consumers names a connection that does not commit, and the fix closes that connection', async () => {
  await isWell()
  const { client, pid } = await holder()
  await write()
  expect(await later(service, 4).all()).toEqual([])
  const readers = later(service, 10)
  const [finding, ...others] = await readers.all()
  expect(others).toEqual([])
  expect(finding).toEqual({
    tenant_id: null,
    subject: expect.stringMatching(new RegExp(`^connection ${pid} since 20`)),
    measured: {
      pid,
      connected: expect.any(String),
      begun: expect.any(String),
      age_seconds: expect.any(Number),
      application: 'import by anna?clinic.test',
    },
    expected: { age_seconds_at_most: 300 },
    since: expect.stringMatching(/^20.*Z$/),
  })
  expect(finding?.measured.age_seconds).toBeGreaterThanOrEqual(600)
  expect(await readers.looked('journal.held_back')).toBeGreaterThanOrEqual(1)
  const both = await Promise.all(
    [1, 2].map(() => readers.repair('journal.held_back', finding as Finding)),
  )
  expect(both).toContain('repaired')
  await expect(client.query('commit')).rejects.toThrow()
  await isWell()
})

test('a connection that blocks journal consumers and ends before the fix is reported as gone, not as failed', async () => {
  await isWell()
  const { client, pid } = await holder()
  await write()
  const readers = later(service, 10)
  const [finding] = await readers.find('journal.held_back')
  const repaired = await readers.fix('journal.held_back').repair?.(finding as Finding, (work) =>
    service.app.db.acrossTenants(async (tx) => {
      // Within a transaction, PostgreSQL keeps the first snapshot of the activity of other sessions.
      await sql`select from running_writers()`.execute(tx.db)
      await client.end()
      await until('it is gone', async () => {
        const seen = await service.database.sql('select from pg_stat_activity where pid = $1', [
          pid,
        ])
        return seen.length === 0 || undefined
      })
      return work(tx)
    }),
  )
  expect(repaired).toBe('already gone')
  await isWell()
})

test('the fix for journal consumers does not close a connection that has started another transaction since the check', async () => {
  await isWell()
  const { client, begin } = await holder()
  await write()
  const readers = later(service, 10)
  const [finding] = await readers.find('journal.held_back')
  await client.query('commit')
  await begin()
  expect(await readers.repair('journal.held_back', finding as Finding)).toBe('already gone')
  await client.query('commit')
  await isWell()
})

test('the check of journal consumers ignores a long-running job of the service', async () => {
  await isWell()
  const { client, pid } = await holder(LOCKS.longJobs)
  await write()
  const readers = later(service, 10)
  expect(await readers.all()).toEqual([])
  const [row] = await service.database.sql<{ connected: string; begun: string }>(
    `select backend_start::text as connected, xact_start::text as begun from pg_stat_activity
     where pid = $1`,
    [pid],
  )
  const finding = {
    tenant_id: null,
    subject: 'x',
    measured: { pid: Number(pid), ...row },
    expected: {},
  }
  expect(await readers.repair('journal.held_back', finding)).toBe('already gone')
  await client.query('commit')
  await isWell()
})

test('the health report is degraded while a journal consumer fails, and the consumer skips no entry', async () => {
  const receiver = await openReceiver()
  const answer = await service.call('POST', '/api/webhooks/register', {
    token: clinic.people.admin.token,
    body: { url: receiver.url, events: ['tenant.updated'] },
  })
  expect(answer.status).toBe(201)
  await isWell()
  await service.database.sql('revoke insert on webhook_deliveries from wardkeep_platform')
  const sent = receiver.received.length
  await write()
  await until('it is noted', async () => {
    const [row] = await service.database.sql<{ error: string | null }>(
      `select error from journal_consumers where consumer = 'webhooks'`,
    )
    return row?.error ?? undefined
  })
  expect(await later(service, 0).health()).toEqual({ state: 'ok' })
  expect(await later(service, 10).health()).toEqual({
    state: 'degraded',
    reason: 'The journal reader webhooks keeps failing. See the log for the cause.',
    since: expect.stringMatching(/^20.*Z$/),
    runbook: 'journal-readers.md',
  })
  await service.database.sql('grant insert on webhook_deliveries to wardkeep_platform')
  await until('it has arrived', () => receiver.received.length > sent || undefined)
  await isWell()
  expect(await later(service, 10).health()).toEqual({ state: 'ok' })
})

test('the health report is degraded while no process reads the journal', async () => {
  const idle = await openService({ database: await migratedDatabase() })
  await makeClinic(idle, await superadmin(idle), 'south')
  expect(await later(idle, 4).health()).toEqual({ state: 'ok' })
  // The readers of a restored copy are paused.
  expect(await later(idle, 10, true).health()).toEqual({ state: 'ok' })
  const readers = later(idle, 10)
  // Waits, because a transaction of another database can briefly delay the reading of the newest entries.
  await until('the entries are settled', async () =>
    (await readers.health()).state === 'ok' ? undefined : true,
  )
  expect(await readers.health()).toMatchObject({
    state: 'degraded',
    reason: 'No process is running the journal reader webhooks. Start a node with the role worker.',
  })
  await openService({ database: idle.database, role: 'worker' })
  await until('it has read all', async () =>
    (await readers.health()).state === 'ok' ? true : undefined,
  )
})

test('accesses alone delay only consumers that include accesses', async () => {
  const { sql: run } = service.database
  await run(
    `insert into journal_consumers (consumer, xid, id)
     select name, xid, id from (select xid, id from journal order by xid desc, id desc limit 1) last,
       unnest('{plain,including}'::text[]) name`,
  )
  await run(
    `insert into journal (tenant_id, action, resource_type, is_access)
     values ($1, 'patient.read', 'patient', true)`,
    [clinic.id],
  )
  const healthOf = async (consumer: string, includesAccesses: boolean) => {
    const clock = { now: () => Date.now() + 10 * MINUTE }
    const readers = openReaders({ db: service.app.db, clock, waits: () => false })
    readers.add(consumer, { includesAccesses })
    await readers.upkeep.run()
    return readers.check()
  }
  expect(await healthOf('plain', false)).toEqual({ state: 'ok' })
  expect(await healthOf('including', true)).toMatchObject({
    state: 'degraded',
    reason: expect.stringContaining('including'),
  })
})

test('the health report is degraded while a prepared transaction delays a journal consumer', async () => {
  const server = await started(await scratch(), {
    max_prepared_transactions: '2',
    max_connections: '60',
    fsync: 'off',
  })
  await migrate(server.connection, silentLog)
  const held = await openService({
    background: ['webhooks'],
    database: databaseOn(server.connection),
  })
  const { sql } = held.database
  const prepare = async (database: DatabaseAddress, gid: string) => {
    const client = ownerClient(database)
    await client.connect()
    await client.query('begin')
    await client.query('select pg_current_xact_id()')
    await client.query(`prepare transaction '${gid}'`)
    await client.end()
  }
  // A prepared transaction of another database does not delay any reader.
  const elsewhere = databaseOn({ ...server.connection, database: 'postgres' })
  await prepare(elsewhere.address, 'theirs')
  await prepare(held.database.address, 'xa-7 of anna@clinic.test')
  await makeClinic(held, await superadmin(held), 'north')
  expect(await later(held, 4).health()).toEqual({ state: 'ok' })
  const readers = later(held, 10)
  expect(await readers.health()).toMatchObject({
    state: 'degraded',
    reason: 'A prepared transaction blocks the journal reader webhooks. Commit it or roll it back.',
  })
  expect(await readers.all()).toEqual([])
  await sql("rollback prepared 'xa-7 of anna@clinic.test'")
  await until('all is read', async () =>
    (await readers.health()).state === 'ok' ? true : undefined,
  )
  await elsewhere.sql("rollback prepared 'theirs'")
})
