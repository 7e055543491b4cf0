/** What the service is, as it says it itself: opened without listening, on a database that is thrown away. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../../server/src/app.ts'
import { readConfig } from '../../server/src/config/config.ts'
import { givenOnly } from '../../server/src/platform/crypto/index.ts'
import { ownerClient } from '../../server/src/platform/db/connection.ts'
import { startEmbedded } from '../../server/src/platform/db/embedded/index.ts'
import type { DatabaseAddress } from '../../server/src/platform/db/index.ts'
import { migrate } from '../../server/src/platform/db/migrate.ts'
import { dumpSchema } from '../../server/src/platform/db/schema-dump.ts'
import { openLog } from '../../server/src/platform/observe/log.ts'

/** Returns the OpenAPI document, and the schema as the migrations make it. */
export async function describe(): Promise<{ contract: object; schema: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'wardkeep-generate-'))
  const log = openLog('error')
  try {
    const embedded = await startEmbedded({ dataDir, log, settings: { fsync: 'off' } })
    try {
      await migrate(embedded.connection, log)
      // Before the service makes partitions of today, which are none of the migrations'.
      const schema = await schemaOf(embedded.connection)
      return { contract: await contractOf(embedded.connection, dataDir), schema }
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

async function contractOf(address: DatabaseAddress, dataDir: string): Promise<object> {
  const app = await openApp({
    config: { ...readConfig({}), DATA_DIR: dataDir },
    address,
    publicUrl: 'http://localhost',
    rootKeys: givenOnly({ key: randomBytes(32), from: 'the generator' }),
    log: openLog('error'),
    role: 'api',
  })
  try {
    return (await app.server.inject('/openapi.json')).json()
  } finally {
    await app.close()
  }
}
