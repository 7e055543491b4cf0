/** Runs pg-boss on a separate pool as workers, without DDL. An unreachable database does not end pg-boss. */
import { CompiledQuery } from 'kysely'
import { PgBoss } from 'pg-boss'
import type { Time } from '../../lib/time.ts'
import { openWorkerPool } from '../db/connection.ts'
import { markFailure } from '../db/failures.ts'
import type { Changes, DatabaseAddress, TenantTx } from '../db/index.ts'
import { openServerPool } from '../db/server-pool.ts'
import type { Logger } from '../observe/log.ts'

/** The interface through which pg-boss runs its statements. */
export interface Statements {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** An attempt at a job. The claim is valid until another process takes over the job. */
export interface Claim {
  id: string
  retryCount: number
}

export interface Boss {
  readonly jobs: PgBoss
  /** Releases a claimed job, so that it can be claimed again after `seconds`. The attempt is not counted. */
  release(name: string, claim: Claim, seconds: number): Promise<void>
  close(): Promise<void>
}

export interface BossOptions {
  changes: Changes
  clock: Time
  log: Logger
  works: boolean
  /** Seconds between two checks for expired leases and due schedules. */
  maintenanceSeconds: number
}

export function openBoss(
  address: DatabaseAddress,
  { changes, clock, log, works, maintenanceSeconds }: BossOptions,
): Boss {
  const pool = openServerPool(openWorkerPool(address, works ? 3 : 1), {
    changes,
    log,
    clock,
    onLost: (err) => log.warn({ err }, 'job database connection lost'),
  })

  const db: Statements = {
    async executeSql(text, values) {
      return pool.query(text, values)
    },
  }
  const jobs = new PgBoss({ db, schema: 'pgboss', ...settings(works, maintenanceSeconds) })
  jobs.on('error', (error) => {
    log.warn({ err: asError(error) }, 'job maintenance failed')
  })
  // Logs only the message. The other data may contain a statement with its values.
  jobs.on('warning', ({ message }) => log.warn({}, message))
  return {
    jobs,
    // The next claim gets a higher attempt number. Later statements of this process then have no effect.
    release: async (name, { id, retryCount }, seconds) =>
      void (await db.executeSql(RELEASE, [name, id, retryCount, seconds])),
    close: pool.close,
  }
}

/** Releases a claim. pg-boss would mark jobs of a stopping process as failed, which costs a retry and its delay. */
const RELEASE = `
  update pgboss.job_common
  set state = 'retry', start_after = pgboss.job_now() + make_interval(secs => $4), retry_limit = retry_limit + 1
  where name = $1 and id = $2 and state = 'active' and retry_count = $3`

/** Returns settings that disable unused features and all DDL, because the migrations create the tables. */
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
    // Runs rarely, because jobs do not depend on each other.
    flowIntervalSeconds: seldom,
  }
}

/** Converts an error of pg-boss to an `Error`. pg-boss copies some errors into plain objects. */
function asError(error: unknown): Error {
  if (error instanceof Error) return error
  const { message, stack, code } = error as { message?: string; stack?: string; code?: string }
  // Marks the error as a database failure, because pg-boss connects only to the database.
  return markFailure(Object.assign(new Error(message), { stack, code }))
}

/** Runs the statements of pg-boss in the caller's transaction, with the caller's privileges. */
export function statementsOn(tx: TenantTx): Statements {
  return {
    async executeSql(text, values = []) {
      const { rows } = await tx.db.executeQuery(CompiledQuery.raw(text, values))
      return { rows }
    },
  }
}
