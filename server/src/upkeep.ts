/** The commands beside start: each opens what it needs, does its work and stops. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, openApp } from './app.ts'
import { readConfig } from './config.ts'
import { VERSION } from './core.ts'
import { StartupFault } from './lib/faults.ts'
import { Problem } from './lib/problems.ts'
import { ownerClient } from './platform/db/connection.ts'
import { startEmbedded } from './platform/db/embedded/index.ts'
import type { DatabaseAddress } from './platform/db/index.ts'
import { migrate } from './platform/db/migrate.ts'
import { dumpSchema } from './platform/db/schema-dump.ts'
import { openApiDocument } from './platform/http/index.ts'
import { type Logger, openLog } from './platform/observe/log.ts'
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
    const tenant = await app.features.tenants.service.restore(id).catch((error: unknown) => {
      throw error instanceof Problem ? new StartupFault(`${error.message}.`) : error
    })
    return `Tenant ${tenant.id} (${tenant.subdomain}) is back.`
  })
}

export function rotateSigningKey(): Promise<void> {
  return withApp(async (app) => {
    await app.features.auth.keys.rotate()
    return `The access tokens are now signed by key ${app.features.auth.keys.signer().kid}.`
  })
}

/** The OpenAPI document of the service, opened on a database that is thrown away. */
export async function printOpenApi(): Promise<void> {
  await onScratchDatabase(async (address, log, dataDir) => {
    const config = { ...readConfig({}), DATA_DIR: dataDir }
    const rootKey = randomBytes(32)
    const publicUrl = 'http://localhost'
    const app = await openApp({ config, address, publicUrl, rootKey, log, role: 'api' })
    process.stdout.write(`${JSON.stringify(openApiDocument(app.operations, VERSION), null, 2)}\n`)
    await app.close()
  })
}

/** The schema as the migrations make it. */
export async function printSchema(): Promise<void> {
  await onScratchDatabase(async (address) => {
    const client = ownerClient(address)
    await client.connect()
    process.stdout.write(await dumpSchema(client))
    await client.end()
  })
}

/** Runs `work` on a migrated database of its own. */
async function onScratchDatabase(
  work: (address: DatabaseAddress, log: Logger, dataDir: string) => Promise<void>,
): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wardkeep-scratch-'))
  const log = openLog('error')
  try {
    const embedded = await startEmbedded({ dataDir, log, settings: { fsync: 'off' } })
    try {
      await migrate(embedded.connection, log)
      await work(embedded.connection, log, dataDir)
    } finally {
      await embedded.stop()
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
