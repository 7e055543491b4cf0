/**
 * One PostgreSQL for the whole run: an embedded one, or TEST_DATABASE_URL. It has two template databases, the migrated
 * one and the golden one. Test files copy a template within milliseconds.
 */
import { execFile } from 'node:child_process'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import { startEmbedded } from '../../src/platform/embedded/index.ts'
import { migrate } from '../../src/platform/schema/migrate.ts'
import { clusterFolder } from './folders.ts'
import type { GoldenPeople } from './people.ts'
import { type ServerAddress, silentLog, withDatabase } from './server-address.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    server: ServerAddress
    /** The strategy of `create database` that is faster on this server. */
    copies: 'file_copy' | 'wal_log'
    /** The database after the migrations. */
    template: string
    golden: GoldenPeople & { template: string }
  }
}

/** Settings for a server whose data is not needed after a crash. */
const THROWAWAY = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '4GB',
  autovacuum: 'off',
  max_connections: '300',
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { server, stop } = await openServer()
  const template = `wardkeep_template_${process.pid}`
  const golden = `wardkeep_golden_${process.pid}`
  const client = new pg.Client(withDatabase(server, null))
  await client.connect()
  const tearDown = async () => {
    for (const name of [golden, template])
      await client.query(`drop database if exists ${name} with (force)`)
    await client.end()
    await stop()
  }
  try {
    await client.query(`create database ${template} encoding 'UTF8' template template0`)
    await migrate(withDatabase(server, template), silentLog)
    await client.query(`create database ${golden} template ${template}`)
    const people = await furnish(withDatabase(server, golden))
    const { rows } = await client.query<{ fsync: string }>('show fsync')
    project.provide('server', server)
    // Copying files is faster than the WAL only if fsync is off.
    project.provide('copies', rows[0]?.fsync === 'off' ? 'file_copy' : 'wal_log')
    project.provide('template', template)
    project.provide('golden', { template: golden, ...people })
  } catch (error) {
    await tearDown()
    throw error
  }
  return tearDown
}

/** Runs a child process to fill the template, because Vitest's module runner cannot load the service. */
async function furnish(address: DatabaseAddress): Promise<GoldenPeople> {
  const script = join(import.meta.dirname, 'furnish-child.ts')
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [script, JSON.stringify(address)],
    { timeout: 120_000 },
  )
  return JSON.parse(stdout)
}

async function openServer(): Promise<{ server: ServerAddress; stop(): Promise<void> }> {
  const url = process.env.TEST_DATABASE_URL
  if (url) return { server: { url }, stop: async () => undefined }
  const dataDir = await clusterFolder('wardkeep-run-')
  await chmod(dataDir, 0o711)
  const embedded = await startEmbedded({
    dataDir,
    log: silentLog,
    settings: THROWAWAY,
  })
  return {
    server: embedded.connection,
    stop: async () => {
      await embedded.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
