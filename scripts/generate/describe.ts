/** Describes the service itself. Opens it on a temporary database, without listening for requests. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../../server/src/app.ts'
import { readConfig } from '../../server/src/config/config.ts'
import { givenOnly } from '../../server/src/platform/crypto/index.ts'
import { ownerClient } from '../../server/src/platform/db/connection.ts'
import type { DatabaseAddress } from '../../server/src/platform/db/index.ts'
import { startEmbedded } from '../../server/src/platform/embedded/index.ts'
import { openLog } from '../../server/src/platform/observe/log.ts'
import { migrate } from '../../server/src/platform/schema/migrate.ts'
import { dumpSchema } from '../../server/src/platform/schema/schema-dump.ts'
import { metricTable } from './metrics.ts'

interface Description {
  /** The OpenAPI document. */
  contract: object
  /** The schema after the migrations. */
  schema: string
  /** The table of the service's own metrics. */
  metrics: string
}

export async function describe(): Promise<Description> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wardkeep-generate-'))
  const log = openLog('error')
  try {
    const embedded = await startEmbedded({ dataDir, log, settings: { fsync: 'off' } })
    try {
      await migrate(embedded.connection, log)
      // Reads the schema before the service creates today's partitions, because the migrations do not create them.
      const schema = await schemaOf(embedded.connection)
      return { ...(await interfaceOf(embedded.connection, dataDir)), schema }
    } finally {
      await embedded.stop()
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}

async function schemaOf(address: DatabaseAddress): Promise<string> {
  const client = ownerClient(address)
  await client.connect()
  try {
    return await dumpSchema(client)
  } finally {
    await client.end()
  }
}

async function interfaceOf(
  address: DatabaseAddress,
  dataDir: string,
): Promise<Omit<Description, 'schema'>> {
  const app = await openApp({
    config: { ...readConfig({}), DATA_DIR: dataDir },
    address,
    publicUrl: 'http://localhost',
    rootKeys: givenOnly({ key: randomBytes(32), from: 'the generator' }),
    log: openLog('error'),
    role: 'api',
  })
  try {
    const contract = (await app.server.inject('/openapi.json')).json()
    return { contract, metrics: metricTable(app.metrics.registry) }
  } finally {
    await app.close()
  }
}
