/** The run's PostgreSQL server, and the addresses of its databases. */
import type { DatabaseAddress } from '../../src/platform/db/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'

/** A server, as the global setup passes it to the test files. */
export type ServerAddress =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** Returns the address of one database of the server; null for its administration database. */
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
