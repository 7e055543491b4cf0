/**
 * PgBouncer between the service and its database. The service works with session mode, and refuses transaction mode.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { listenerClient, openPool, openWorkerPool } from '../../src/platform/db/connection.ts'
import { requireSessionPooling } from '../../src/platform/db/pooling.ts'
import { endingPool } from '../support/database.ts'
import { query, started } from '../support/embedded.ts'
import { hasPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { finished, PLAIN, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { openSwitch, type TcpSwitch } from '../support/tcp-switch.ts'

let address: TcpSwitch
let server: Awaited<ReturnType<typeof started>>

beforeAll(async () => {
  server = await started(await scratch(), { fsync: 'off', max_connections: '100' })
  address = await openSwitch(server.connection)
})

const LOOK = `select current_user as who, current_setting('statement_timeout') as longest,
  current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle,
  current_setting('timezone') as zone, current_setting('jit') as jit`
const LIMITS = { longest: '30s', lock: '10s', idle: '1min', zone: 'UTC', jit: 'off' }

test('the service works with a direct connection to PostgreSQL', async () => {
  await expect(requireSessionPooling({ url: address.url })).resolves.toBeUndefined()
})

describe.skipIf(!hasPgBouncer)('PgBouncer', () => {
  test('works in session mode, with the database role and the limits of the service', async () => {
    const url = await startPgBouncer(address, 'session')
    const service = await startService({ ...PLAIN, DATABASE_URL: url, DATA_DIR: await scratch() })
    const token = await tokenOf(service)
    const body = { name: 'Ward' }
    const created = await service.call('POST', '/api/admin/departments', { token, body })
    expect(created.status).toBe(201)
    const pool = endingPool(openPool({ url }, 1))
    const workers = endingPool(openWorkerPool({ url }, 1))
    expect((await pool.query(LOOK)).rows).toEqual([{ ...LIMITS, who: 'wardkeep_app' }])
    expect((await workers.query(LOOK)).rows).toEqual([{ ...LIMITS, who: 'wardkeep_platform' }])
    const listener = listenerClient({ url })
    await listener.connect()
    expect((await listener.query(LOOK)).rows).toMatchObject([
      { who: 'wardkeep_app', lock: '300ms' },
    ])
    await listener.end()
    expect(await service.stop()).toEqual({ code: 0, signal: null })
  })

  test('is refused in transaction mode with a one-line message, and the failed start leaves nothing running', async () => {
    const url = await startPgBouncer(address, 'transaction')
    const env = { ...PLAIN, DATABASE_URL: url, DATA_DIR: await scratch() }
    for (const command of ['start', 'migrate']) {
      const { code, stderr } = await finished([command], env)
      expect([command, code]).toEqual([command, 1])
      expect(stderr.trimEnd().split('\n')).toEqual([
        expect.stringMatching(/^.*DATABASE_URL: the connection pooler .*pool mode to session.*$/),
      ])
    }
    const locks = `select 1 from pg_locks where locktype = 'advisory'`
    expect(await query(server.connection, locks)).toEqual([])
  })
})
