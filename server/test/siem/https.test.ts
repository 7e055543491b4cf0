/** The export to an HTTPS receiver: what confirms entries, and how the export reacts to each refusal. */
import { describe, expect, test } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { makeCertificate } from '../support/certificate.ts'
import { superadmin } from '../support/clinics.ts'
import { goldenDatabase, type TestDatabase } from '../support/database.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { type HttpsReceiver, openHttpsReceiver } from './https-receiver.ts'
import {
  allConfirmed,
  exporting,
  idsOf,
  newestId,
  openExporter,
  rowOf,
  writeEntries,
  writeRead,
} from './scene.ts'

const server = makeCertificate()
const other = makeCertificate()

interface Scene {
  receiver: HttpsReceiver
  service: Service
  database: TestDatabase
  first: number
}

async function open(config: Partial<Config> = {}): Promise<Scene> {
  const receiver = await openHttpsReceiver(server)
  const database = await goldenDatabase()
  const service = await openExporter(
    {
      SIEM_URL: { transport: 'https', url: receiver.url },
      SIEM_CA_FILE: server.cert,
      SIEM_TOKEN: 'tok-1',
      ...config,
    },
    database,
  )
  await exporting(database)
  return { receiver, service, database, first: await newestId(database) }
}

const uidsOf = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).metadata.uid)

/** Reads the health of the export as it is some seconds later. */
async function healthOf({ service }: Scene) {
  service.clock.elapse(5_000)
  const capabilities = await service.call('GET', '/api/auth/capabilities')
  return capabilities.body.siem_export_enabled
}

test('entries arrive as compressed lines with the token, with accesses, and 2xx confirms them', async () => {
  const scene = await open()
  await writeEntries(scene.service, 3)
  await writeRead(scene.database)
  await allConfirmed(scene.database)
  expect(uidsOf(scene.receiver.accepted)).toEqual(await idsOf(scene.database, scene.first))
  const sequences = scene.receiver.accepted.map((line) => JSON.parse(line).metadata.sequence)
  expect(sequences).toEqual([1, 2, 3, 4])
  expect(scene.receiver.requests[0]?.headers).toMatchObject({
    authorization: 'Bearer tok-1',
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
  })
  const metrics = await scene.service.app.metrics.registry.metrics()
  expect(metrics).toContain('wardkeep_siem_entries_total{outcome="sent"} 4')
  expect(metrics).toContain('wardkeep_siem_lag_seconds 0')
})

test('413 halves the batch until the receiver takes it, and no entry is missing', async () => {
  const scene = await open()
  scene.receiver.answerWith(({ lines }) => (lines.length > 3 ? 413 : 200))
  await scene.service.app.db.acrossTenants(async () => undefined)
  await scene.database.sql(
    `insert into journal (action, resource_type, resource_id)
     select 'tenant.updated', 'tenant', i from generate_series(1, 20) i`,
  )
  await allConfirmed(scene.database)
  expect(uidsOf(scene.receiver.accepted)).toEqual(await idsOf(scene.database, scene.first))
  const sizes = scene.receiver.requests.map(({ lines }) => lines.length)
  expect(sizes.slice(0, 4)).toEqual([20, 10, 5, 3])
  // The next batches begin with the size that the receiver takes.
  expect(sizes.filter((size) => size > 3).length).toBeLessThanOrEqual(4)
})

test('an entry that is too large alone is sent without its changes', async () => {
  const scene = await open()
  await writeEntries(scene.service, 1)
  await allConfirmed(scene.database)
  scene.receiver.answerWith(({ lines }) => (lines.join('').length > 20_000 ? 413 : 200))
  await scene.database.sql(
    `insert into journal (action, resource_type, changes)
     values ('tenant.updated', 'tenant', jsonb_build_object('note', repeat('x', 50000)))`,
  )
  await allConfirmed(scene.database)
  const { metadata, unmapped } = JSON.parse(scene.receiver.accepted.at(-1) ?? '')
  expect(metadata.is_truncated).toBe(true)
  expect(unmapped).not.toHaveProperty('changes')
})

test('400 isolates the one entry, which is logged, and the export goes on', async () => {
  const scene = await open()
  await writeEntries(scene.service, 1)
  await allConfirmed(scene.database)
  scene.receiver.answerWith(({ lines }) =>
    lines.some((line) => line.includes('"uid":"bad"')) ? 400 : 200,
  )
  await scene.database.sql(
    `insert into journal (action, resource_type, resource_id)
     select 'tenant.updated', 'ward', case i when 7 then 'bad' else i::text end
     from generate_series(1, 12) i`,
  )
  await allConfirmed(scene.database)
  const [bad] = await scene.database.sql<{ id: number }>(
    `select id from journal where resource_id = 'bad'`,
  )
  const expected = (await idsOf(scene.database, scene.first)).filter((id) => id !== String(bad?.id))
  expect(uidsOf(scene.receiver.accepted)).toEqual(expected)
  const logged = scene.service.logged.filter(([level]) => level === 'error')
  expect(logged).toEqual([
    [
      'error',
      { entry: bad?.id, action: 'tenant.updated', reason: 'rejected' },
      'SIEM rejected an entry, which was skipped',
    ],
  ])
  expect(await scene.service.app.metrics.registry.metrics()).toContain(
    'wardkeep_siem_entries_total{outcome="rejected"} 1',
  )
})

test('a receiver that rejects everything loses nothing: the export stops until it accepts entries', async () => {
  const scene = await open()
  scene.receiver.answerWith(() => 400)
  await scene.database.sql(
    `insert into journal (action, resource_type, resource_id)
     select 'tenant.updated', 'ward', i from generate_series(1, 30) i`,
  )
  await until('the export fails', async () => (await rowOf(scene.database))?.failing_since)
  expect((await rowOf(scene.database))?.sequence).toBe(0)
  scene.receiver.answerWith(() => 200)
  scene.service.clock.elapse(60_000)
  await allConfirmed(scene.database)
  expect(uidsOf(scene.receiver.accepted)).toEqual(await idsOf(scene.database, scene.first))
})

describe.each([429, 503])('after %i', (status) => {
  test('the export waits as long as Retry-After says, reports it, and then sends everything', async () => {
    const scene = await open()
    scene.receiver.answerWith(() => ({ status, retryAfter: '120' }))
    await writeEntries(scene.service, 1)
    await until('the export fails', async () => (await rowOf(scene.database))?.failing_since)
    expect(await healthOf(scene)).toBe(false)
    const before = scene.receiver.requests.length
    await writeEntries(scene.service, 1)
    scene.service.clock.elapse(60_000)
    await scene.service.app.db.ping()
    expect(scene.receiver.requests.length).toBe(before)
    scene.receiver.answerWith(() => 200)
    scene.service.clock.elapse(60_000)
    await allConfirmed(scene.database)
    expect(uidsOf(scene.receiver.accepted)).toEqual(await idsOf(scene.database, scene.first))
    await until('it is healthy', async () => (await healthOf(scene)) || undefined)
  })
})

test.each([
  ['a certificate of an unknown authority', { SIEM_CA_FILE: other.cert }],
  ['no configured authority', { SIEM_CA_FILE: undefined }],
])('with %s nothing is sent, and the health report says why', async (_, config) => {
  const scene = await open(config)
  await writeEntries(scene.service, 1)
  await until('the export fails', async () => (await rowOf(scene.database))?.failing_since)
  expect(scene.receiver.requests).toEqual([])
  const [row] = await scene.database.sql(
    `select error from journal_consumers where consumer = 'siem'`,
  )
  expect(row?.error).toMatch(/certificate/)
  scene.service.clock.elapse(5_000)
  const root = await superadmin(scene.service)
  const component = await until('the health report knows it', async () => {
    const { body } = await scene.service.call('GET', '/api/admin/health', root)
    return body.components.find(
      (one: { name: string; state: string }) => one.name === 'siem' && one.state === 'degraded',
    )
  })
  expect(component).toMatchObject({
    reason: expect.stringContaining(`${row?.error}`),
    since: expect.any(String),
    runbook: 'unreachable-siem.md',
  })
})

test('a client certificate authenticates the service, and a refused one is a failure', async () => {
  const mutual = { ...server, requestCert: true, rejectUnauthorized: true, ca: other.cert }
  const receiver = await openHttpsReceiver(mutual)
  const database = await goldenDatabase()
  const config = {
    SIEM_URL: { transport: 'https' as const, url: receiver.url },
    SIEM_CA_FILE: server.cert,
  }
  const without = await openExporter(config, database)
  await exporting(database)
  await writeEntries(without, 1)
  await until('the export fails', async () => (await rowOf(database))?.failing_since)
  await without.close()
  expect(receiver.accepted).toEqual([])
  await openExporter(
    { ...config, SIEM_CLIENT_CERT_FILE: other.cert, SIEM_CLIENT_KEY_FILE: other.key },
    database,
  )
  await allConfirmed(database)
  expect(receiver.accepted).toHaveLength(1)
})
