/**
 * The first message of a connection. It shows which server responds, whether the server is usable, and whether the
 * connection keeps its settings.
 */
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { until } from '../../../test/support/until.ts'
import { systemTime } from '../../lib/time.ts'
import { watchChanges } from './changes.ts'
import { listenerClient } from './connection.ts'
import { problemOf, ServerRefused } from './failures.ts'
import { introduce, isSameServer } from './first-message.ts'

async function introduction(database: TestDatabase) {
  const client = listenerClient(database.address)
  await client.connect()
  await client.end()
  return client.introduction
}

/** Returns a client that responds to the first message with this row. */
const answering = (row: object) =>
  ({ query: async () => [{ rows: [] }, { rows: [row] }] }) as unknown as pg.Client

const WELL = { is_standby: false, is_read_only: false, role: 'wardkeep_app' }

test('the connection check identifies the server and the connection in the first message', async () => {
  const database = await migratedDatabase()
  const [one, other] = [await introduction(database), await introduction(database)]
  expect(isSameServer(one.server, other.server)).toBe(true)
  expect(one.pid).not.toBe(other.pid)
  expect(one.server).toEqual({
    systemId: expect.stringMatching(/^\d+$/),
    timeline: expect.stringMatching(/^[0-9A-F]{8}$/),
    startedAt: expect.stringMatching(/^\d+\.\d{6}$/),
  })
  for (const changed of [{ systemId: '1' }, { timeline: '0000000F' }, { startedAt: '1.000000' }])
    expect(isSameServer(one.server, { ...one.server, ...changed })).toBe(false)
})

test.each([
  ['a standby', { is_standby: true, is_read_only: true }, 'The database server is a standby'],
  ['a read-only server', { is_read_only: true }, 'The database server is read-only'],
  [
    'a server that did not apply the requested settings',
    { role: 'postgres' },
    'role is postgres instead of wardkeep_app',
  ],
])('the connection check refuses a connection to %s', async (_, row, sentence) => {
  const refused = introduce(answering({ ...WELL, ...row }), { settings: { role: 'wardkeep_app' } })
  await expect(refused).rejects.toThrow(sentence)
  await expect(refused).rejects.toBeInstanceOf(ServerRefused)
  expect(problemOf(await refused.catch((error) => error))?.code).toBe('database_away')
})

test('the connection check accepts a standby if the connection only reads', async () => {
  const standby = { ...WELL, is_standby: true, is_read_only: true, timeline: '' }
  const settings = { role: 'wardkeep_app' }
  const accepted = await introduce(answering(standby), { settings, acceptsReadOnly: true })
  expect(accepted.server.timeline).toBe('')
  const unkept = introduce(answering({ ...standby, role: 'postgres' }), {
    settings,
    acceptsReadOnly: true,
  })
  await expect(unkept).rejects.toBeInstanceOf(ServerRefused)
})

test('the connection check works without the privilege to read the cluster identifier, and logs that it is missing', async () => {
  const database = await migratedDatabase()
  await database.sql('revoke execute on function pg_control_system() from public')
  expect((await introduction(database)).server.systemId).toBeNull()
  const warnings: string[] = []
  const warn = (_: object, message: string) => void warnings.push(message)
  const log = { ...silentLog, warn } as typeof silentLog
  const changes = watchChanges(database.address, log, systemTime)
  onTestFinished(() => changes.stop())
  await until('it listens', () => changes.server())
  expect(warnings).toEqual([expect.stringContaining('pg_control_system()')])
})
