/**
 * One PostgreSQL for the whole run: an embedded one of its own, or TEST_DATABASE_URL. The migrated
 * template on it is copied for every test file, in milliseconds.
 */
import { chmod, rm } from 'node:fs/promises'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../../src/platform/db/embedded/index.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { clusterFolder } from './folders.ts'
import { type ServerAddress, silentLog, withDatabase } from './server-address.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    server: ServerAddress
    template: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { server, stop } = await openServer()
  const template = `wardkeep_template_${process.pid}`
  const client = new pg.Client(withDatabase(server, null))
  await client.connect()
  await client.query(`create database ${template} encoding 'UTF8' template template0`)
  await migrate(withDatabase(server, template), silentLog)
  project.provide('server', server)
  project.provide('template', template)
  return async () => {
    await client.query(`drop database ${template} with (force)`)
    await client.end()
    await stop()
  }
}

async function openServer(): Promise<{ server: ServerAddress; stop(): Promise<void> }> {
  const url = process.env.TEST_DATABASE_URL
  if (url) return { server: { url }, stop: async () => undefined }
  const dataDir = await clusterFolder('wardkeep-run-')
  await chmod(dataDir, 0o711)
  const embedded = await startEmbedded({
    dataDir,
    log: silentLog,
    settings: { fsync: 'off', max_connections: '300' },
  })
  return {
    server: embedded.connection,
    stop: async () => {
      await embedded.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
