/** Startup in production: its requirements, and its behaviour with an external database. */

import { chmod, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { emptyDatabase, type TestDatabase } from '../support/database.ts'
import { proxyTo } from '../support/database-proxy.ts'
import {
  command,
  freePort,
  PLAIN,
  refusedStart,
  startService,
  tokenOf,
} from '../support/process.ts'
import { nobodyLeft, processesOn } from '../support/processes.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

const KEY = Buffer.alloc(32, 5).toString('base64')

/** Returns the URL of the database for another user of the server. */
async function urlAs(database: TestDatabase, user: string, password: string): Promise<string> {
  const url = new URL((await proxyTo(database)).url)
  url.username = user
  url.password = password
  return url.href
}

describe('a start in production', () => {
  test('reports a missing key, a missing database URL and an enabled demo together', async () => {
    const dataDir = await scratch()
    const production = {
      DATA_DIR: dataDir,
      PORT: '0',
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://clinic.example',
    }
    const keyless = await refusedStart(production)
    expect(keyless).toEqual([expect.stringMatching(/^ENCRYPTION_KEY: is required in production/)])
    const demo = await refusedStart({ ...production, DEMO: 'true', ENCRYPTION_KEY: KEY })
    expect(demo).toEqual(['DEMO: must not be true with NODE_ENV=production.'])
    expect(await refusedStart({ ...production, DEMO: 'true', PUBLIC_URL: '' })).toEqual([
      expect.stringMatching(/^PUBLIC_URL: is required in production/),
      expect.stringMatching(/^DEMO: /),
      expect.stringMatching(/^ENCRYPTION_KEY: /),
    ])
    await nobodyLeft(dataDir)
  })

  test('rejects a data folder and a key file that every user account may read, in one line each', async () => {
    const dataDir = await scratch()
    const keyFile = join(dataDir, 'key')
    await writeFile(keyFile, `${KEY}\n`)
    await chmod(keyFile, 0o644)
    await chmod(dataDir, 0o755)
    const env = {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://clinic.example',
      DATA_DIR: dataDir,
      ENCRYPTION_KEY_FILE: keyFile,
    }
    expect(await refusedStart(env)).toEqual([
      expect.stringMatching(/^DATA_DIR: .*\. Run "chmod o-rw /),
      expect.stringMatching(/^ENCRYPTION_KEY_FILE: .*\. Run "chmod o-rw /),
    ])
    await chmod(dataDir, 0o711)
    expect(await refusedStart(env)).toEqual([expect.stringMatching(/^ENCRYPTION_KEY_FILE: /)])
  })

  test('works with a key and a database, without a demo and an embedded server', async () => {
    const database = await emptyDatabase()
    const dataDir = await scratch()
    const keyFile = join(dataDir, 'key')
    await writeFile(keyFile, `${KEY}\n`, { mode: 0o600 })
    const env = {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://clinic.example',
      PORT: '0',
      DATA_DIR: dataDir,
      ENCRYPTION_KEY_FILE: keyFile,
      DATABASE_URL: (await proxyTo(database)).url,
      BOOTSTRAP_ADMIN_EMAIL: PLAIN.BOOTSTRAP_ADMIN_EMAIL,
      BOOTSTRAP_ADMIN_PASSWORD: PLAIN.BOOTSTRAP_ADMIN_PASSWORD,
    }
    const service = await startService(env)
    expect(service.stdout()).not.toContain('demo')
    const token = await tokenOf(service)
    const { body } = await service.call('GET', '/api/admin/health', { token })
    expect(body).toMatchObject({
      tenants_count: 1,
      patients_count: 0,
      database: { embedded: false },
    })
    expect(await processesOn(join(dataDir, 'postgres'))).toEqual([])
    expect(await database.sql('select subdomain from tenants')).toEqual([{ subdomain: 'platform' }])
    expect(await service.stop()).toEqual({ code: 0, signal: null })
    // Uses another key, which cannot decrypt the existing data.
    const other = Buffer.alloc(32, 6).toString('base64')
    const { ENCRYPTION_KEY_FILE: _, ...keyless } = env
    const lines = await refusedStart({ ...keyless, ENCRYPTION_KEY: other })
    expect(lines.join()).toContain('ENCRYPTION_KEY')
  })
})

describe('the database at DATABASE_URL', () => {
  const start = async (url: string) =>
    refusedStart({
      ...PLAIN,
      DATABASE_URL: url,
      DATABASE_WAIT_SECONDS: '0',
      DATA_DIR: await scratch(),
      LOG_LEVEL: 'error',
    })

  test('serves the API end to end, and a second node can use the same database', async () => {
    const database = await emptyDatabase()
    const url = (await proxyTo(database)).url
    const env = { ...PLAIN, DEMO: 'true', DATABASE_URL: url, ENCRYPTION_KEY: KEY }
    const nodes = await Promise.all([startService(env), startService(env)])
    const [one, two] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    const demo = { email: 'admin@demo.local', password: 'try-Wardkeep-26', subdomain: 'demo' }
    const token = await tokenOf(one, demo)
    const created = await one.call('POST', '/api/admin/departments', {
      token,
      body: { name: 'Shared' },
    })
    expect(created.status).toBe(201)
    const path = `/api/admin/departments?search=shared`
    expect(await two.call('GET', path, { token })).toMatchObject({
      status: 200,
      body: { total: 1 },
    })
    expect(await database.sql('select count(*) from tenants where is_demo')).toEqual([{ count: 1 }])
    expect(await database.sql('select count(*) from patients')).toEqual([{ count: 200 }])
    expect(await Promise.all(nodes.map((node) => node.stop()))).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ])
  })

  test('is refused if the variable is not a URL', async () => {
    expect(await start('localhost:5432')).toEqual([
      expect.stringMatching(/^DATABASE_URL: must be a URL such as postgres:\/\//),
    ])
  })

  test('is refused if nothing listens at its address', async () => {
    expect(await start(`postgres://x:y@127.0.0.1:${await freePort()}/z`)).toEqual([
      expect.stringMatching(/^DATABASE_URL: .*ECONNREFUSED.*Check that it is running/),
    ])
  })

  test('is tried again while nothing listens at its address, until the time limit', async () => {
    const proxy = await proxyTo(await emptyDatabase())
    await proxy.refuse()
    const env = { ...PLAIN, DATABASE_URL: proxy.url, ENCRYPTION_KEY: KEY }
    expect(await refusedStart({ ...env, DATABASE_WAIT_SECONDS: '1', LOG_LEVEL: 'error' })).toEqual([
      // The reason is the refusal, or the end of the time if the machine is busy.
      expect.stringMatching(/^DATABASE_URL: no database server was writable within \S+ \(.+\)/),
    ])
    const service = command(['start'], env)
    await until('it waits', () => service.stdout().includes('waiting for a writable database'))
    await proxy.open()
    await until('it serves', () => service.stdout().includes('Wardkeep is ready'), 60_000)
  })

  test('is refused if it is not PostgreSQL', async () => {
    const server = createServer((socket) => void socket.end('SSH-2.0-OpenSSH\r\n'))
    const port = await freePort()
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    expect(await start(`postgres://x:y@127.0.0.1:${port}/z`)).toEqual([
      expect.stringMatching(/^DATABASE_URL: /),
    ])
  })

  test('is refused if the database does not exist', async () => {
    const url = new URL((await proxyTo(await emptyDatabase())).url)
    url.pathname = '/no_such_database'
    expect(await start(url.href)).toEqual([
      expect.stringMatching(/^DATABASE_URL: .*database "no_such_database" does not exist/),
    ])
  })

  test('is refused for a database user that lacks any of the required rights', async () => {
    const database = await emptyDatabase()
    const user = `wk_weak_${process.pid}`
    await database.sql(`create role ${user} login password 'weak' nocreaterole`)
    const url = await urlAs(database, user, 'weak')
    const denied = [
      expect.stringMatching(/^DATABASE_URL: .*permission denied.*may create tables and roles\.$/),
    ]
    try {
      expect(await start(url)).toEqual(denied)
      await database.sql(`grant all on schema public to ${user}`)
      expect(await start(url)).toEqual([expect.stringMatching(/^DATABASE_URL: .*0001_roles/)])
    } finally {
      await database.sql(`drop owned by ${user}`)
      await database.sql(`drop role ${user}`)
    }
  })
})
