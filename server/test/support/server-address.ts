/** Where the run's PostgreSQL is, and how its databases are addressed. */
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'

/** A server, as the global setup hands it to the test files. */
export type ServerAddress =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** The address of one database of the server; null for the one to administer it from. */
export function withDatabase(
  server: ServerAddress,
  name: string | null,
): DatabaseAddress & { connectionString?: string } {
  if (!('url' in server)) return name === null ? server : { ...server, database: name }
  const url = new URL(server.url)
  if (name !== null) url.pathname = `/${name}`
  return { url: url.href, connectionString: url.href }
}

const silence = () => undefined
export const silentLog: Logger = { info: silence, warn: silence, error: silence, debug: silence }
