/** The commands beside start: each opens what it needs, does its work and stops. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, describeApi, openApp } from './app.ts'
import { readConfig } from './config.ts'
import { StartupFault } from './lib/faults.ts'
import { Problem } from './lib/problems.ts'
import { ownerClient } from './platform/db/connection.ts'
import { startEmbedded } from './platform/db/embedded/index.ts'
import { migrate } from './platform/db/migrate.ts'
import { dumpSchema } from './platform/db/schema-dump.ts'
import { openLog } from './platform/observe/log.ts'
import { migrateOrExplain, openDatabase, rootKeyOf } from './start.ts'

/** Opens the service without listening, for one piece of work. */
async function withApp(work: (app: App) => Promise<string>): Promise<void> {
  const config = readConfig()
  const log = openLog('warn')
  const { address, stop } = await openDatabase(config, log)
  try {
    await migrateOrExplain(address, config, log)
    const rootKey = await rootKeyOf(config, log)
    const publicUrl = config.PUBLIC_URL ?? 'http://localhost'
    // A command does its one piece of work; what waits in the background is the service's.
    const app = await openApp({ config, address, publicUrl, rootKey, log, role: 'api' })
    try {
      process.stdout.write(`${await work(app)}\n`)
    } finally {
      await app.close()
    }
  } finally {
    await stop()
  }
}

export async function migrateOnly(): Promise<void> {
  const config = readConfig()
  const log = openLog('info')
  const { address, stop } = await openDatabase(config, log)
  try {
    const version = await migrateOrExplain(address, config, log)
    process.stdout.write(`The database has schema ${version}.\n`)
  } finally {
    await stop()
  }
}

export async function restoreTenant(id: number): Promise<void> {
  if (!Number.isSafeInteger(id)) throw new StartupFault('Give the id of the tenant, a number.')
  return withApp(async (app) => {
    const tenant = await app.services.tenants.restore(id).catch((error: unknown) => {
      throw error instanceof Problem ? new StartupFault(`${error.message}.`) : error
    })
    return `Tenant ${tenant.id} (${tenant.subdomain}) is back.`
  })
}

export function rotateSigningKey(): Promise<void> {
  return withApp(async (app) => {
    await app.services.auth.keys.rotate()
    return `The access tokens are now signed by key ${app.services.auth.keys.signer().kid}.`
  })
}

export async function printOpenApi(): Promise<void> {
  process.stdout.write(`${JSON.stringify(describeApi(), null, 2)}\n`)
}

/** The schema as the migrations make it, on a database of its own that is thrown away. */
export async function printSchema(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wardkeep-schema-'))
  const log = openLog('error')
  try {
    const embedded = await startEmbedded({ dataDir, log, settings: { fsync: 'off' } })
    try {
      await migrate(embedded.connection, log)
      const client = ownerClient(embedded.connection)
      await client.connect()
      process.stdout.write(await dumpSchema(client))
      await client.end()
    } finally {
      await embedded.stop()
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
