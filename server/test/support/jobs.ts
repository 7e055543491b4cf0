/** Nodes that enqueue and run jobs on a test database, and a connection that can be cut. */
import { createServer, connect as dial, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import {
  alone,
  type DatabaseAddress,
  type Outage,
  openScopes,
  type Scopes,
  watchOutages,
} from '../../src/platform/db/index.ts'
import { type Jobs, openJobs } from '../../src/platform/jobs/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import type { TestDatabase } from './database.ts'
import { type MovableClock, movableClock } from './time.ts'

export interface JobsNode {
  jobs: Jobs
  db: Scopes
  clock: MovableClock
  /** Every line that was logged, as `[level, fields, message]`. */
  logged: [string, Record<string, any>, string][]
  log: Logger
  outage: Outage
  stop(): Promise<void>
}

/** Creates a node's jobs, not yet started. They stop with the test. */
export function openNode(
  database: TestDatabase,
  options: {
    works?: boolean
    address?: DatabaseAddress
    maintenanceSeconds?: number
    rests?: () => boolean
    clock?: MovableClock
    /** Whether the node receives its database's notifications. Always true by default. */
    trusted?: () => boolean
  } = {},
): JobsNode {
  const logged: JobsNode['logged'] = []
  const at = (level: string) => (fields: object, message: string) =>
    void logged.push([level, fields, message])
  const lines = { debug: () => undefined, info: at('info'), warn: at('warn'), error: at('error') }
  const clock = options.clock ?? movableClock()
  const outage = watchOutages(lines as unknown as Logger, clock)
  const { log } = outage
  const db = openScopes(database.address, {
    clock,
    size: 4,
    changes: alone,
    log,
  })
  const jobs = openJobs({
    clock,
    address: options.address ?? database.address,
    changes: { ...alone, trusted: options.trusted ?? alone.trusted },
    log,
    works: options.works ?? true,
    maintenanceSeconds: options.maintenanceSeconds ?? 1,
    ...(options.rests ? { rests: options.rests } : {}),
  })
  let isOpen = true
  const stop = async () => {
    if (!isOpen) return
    isOpen = false
    await jobs.close()
    await db.close()
    outage.stop()
  }
  onTestFinished(stop)
  return { jobs, db, clock, logged, log, outage, stop }
}

/** Returns the rows of one kind in the jobs table. Reads as the database owner. */
export function rowsOf(database: TestDatabase, kind: string) {
  return database.sql<{
    id: string
    state: string
    retry_count: number
    waits: number
    output: Record<string, unknown> | null
    data: Record<string, unknown>
  }>(
    `select id, state, retry_count, data, output,
       extract(epoch from start_after - now())::float8 as waits
     from pgboss.job where name = $1 order by created_on`,
    [kind],
  )
}

/** Creates a tenant to enqueue for. Returns its id. */
export async function aTenant(database: TestDatabase): Promise<number> {
  const [tenant] = await database.sql<{ id: number }>(
    `insert into tenants (name, subdomain) values ('Clinic', 'clinic-' || gen_random_uuid()) returning id`,
  )
  return tenant?.id ?? 0
}

export interface Outages {
  address: DatabaseAddress
  down(): Promise<void>
  up(): Promise<void>
}

/** Opens a connection to the database that can be cut: connections break, and new ones are refused. */
export async function openOutages(database: TestDatabase): Promise<Outages> {
  const sockets = new Set<Socket>()
  const server = createServer((incoming) => {
    const outgoing = dial(targetOf(database.address))
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from))
      from.pipe(to)
    }
  })
  const listen = (port: number) =>
    new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as { port: number }
  const down = async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of sockets) socket.destroy()
    await closed
  }
  onTestFinished(async () => {
    if (server.listening) await down()
  })
  return { address: through(database.address, port), down, up: () => listen(port) }
}

function targetOf(address: DatabaseAddress) {
  if (!('url' in address)) return { path: `${address.host}/.s.PGSQL.${address.port}` }
  const url = new URL(address.url)
  return { host: url.hostname, port: Number(url.port || 5432) }
}

function through(address: DatabaseAddress, port: number): DatabaseAddress {
  if (!('url' in address)) return { ...address, host: '127.0.0.1', port }
  const url = new URL(address.url)
  url.host = `127.0.0.1:${port}`
  return { url: url.href }
}
