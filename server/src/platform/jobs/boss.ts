/** pg-boss on a pool of its own: as the worker's role, without DDL, and calm while the database is away. */
import { CompiledQuery } from 'kysely'
import { PgBoss } from 'pg-boss'
import { openWorkerPool } from '../db/connection.ts'
import { type DatabaseAddress, problemOf, type TenantTx } from '../db/index.ts'
import type { Logger } from '../observe/log.ts'

/** What pg-boss runs its statements on. */
export interface Statements {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** An attempt at a job; it holds only as long as nobody else has taken the job over. */
export interface Claim {
  id: string
  retryCount: number
}

export interface Boss {
  readonly jobs: PgBoss
  /** Makes a claimed job claimable again, in some seconds and without counting the attempt against it. */
  release(name: string, claim: Claim, seconds: number): Promise<void>
  /** Whether the error only says that the database is away, which is logged already, and once. */
  isAway(error: unknown): boolean
  /** Lets go of the connections, waiting for the statements that run. */
  close(): Promise<void>
}

export interface BossOptions {
  log: Logger
  works: boolean
  /** Seconds between looks at leases and schedules. */
  maintenanceSeconds: number
}

export function openBoss(
  address: DatabaseAddress,
  { log, works, maintenanceSeconds }: BossOptions,
): Boss {
  const pool = openWorkerPool(address, works ? 3 : 1)
  let away = false

  const isAway = (error: unknown) => problemOf(error)?.code === 'database_away'
  function lost(error: unknown): void {
    if (!away) log.warn({ err: error }, 'jobs wait: their database is away')
    away = true
  }
  pool.on('error', lost)

  const db: Statements = {
    async executeSql(text, values) {
      try {
        const result = await pool.query(text, values)
        if (away) log.info({}, 'jobs go on: their database is back')
        away = false
        return result
      } catch (error) {
        if (isAway(error)) lost(error)
        throw error
      }
    },
  }
  const jobs = new PgBoss({ db, schema: 'pgboss', ...settings(works, maintenanceSeconds) })
  jobs.on('error', (error) => {
    if (!isAway(error)) log.warn({ err: asError(error) }, 'the upkeep of jobs failed')
  })
  // Only the message: its data may quote a statement with its values.
  jobs.on('warning', ({ message }) => log.warn({}, message))
  return {
    jobs,
    // The next claim counts on, so whatever this process still says of its own is fenced off.
    release: async (name, { id, retryCount }, seconds) =>
      void (await db.executeSql(RELEASE, [name, id, retryCount, seconds])),
    isAway,
    close: () => pool.end(),
  }
}

/** pg-boss fails what a stopping process still runs; that costs a retry and waits its delay. */
const RELEASE = `
  update pgboss.job_common
  set state = 'retry', start_after = pgboss.job_now() + make_interval(secs => $4), retry_limit = retry_limit + 1
  where name = $1 and id = $2 and state = 'active' and retry_count = $3`

/** Everything off that makes or rebuilds tables (the migrations do) or that nobody asked for. */
function settings(works: boolean, maintenanceSeconds: number) {
  const seldom = 24 * 60 * 60
  return {
    migrate: false,
    createSchema: false,
    supervise: works,
    schedule: works,
    reindex: false,
    monitorVacuum: false,
    persistWarnings: false,
    persistQueueStats: false,
    superviseIntervalSeconds: maintenanceSeconds,
    monitorIntervalSeconds: maintenanceSeconds,
    maintenanceIntervalSeconds: 60 * 60,
    cronMonitorIntervalSeconds: maintenanceSeconds,
    cronWorkerIntervalSeconds: Math.ceil(maintenanceSeconds / 2),
    queueCacheIntervalSeconds: seldom,
    // Jobs that wait for other jobs: not used.
    flowIntervalSeconds: seldom,
  }
}

/** pg-boss spreads some errors into plain objects. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error
  const { message, stack, code } = error as { message?: string; stack?: string; code?: string }
  return Object.assign(new Error(message), { stack, code })
}

/** pg-boss' statements, run inside the caller's transaction and with the caller's rights. */
export function statementsOn(tx: TenantTx): Statements {
  return {
    async executeSql(text, values = []) {
      const { rows } = await tx.db.executeQuery(CompiledQuery.raw(text, values))
      return { rows }
    },
  }
}
