/** Runs long reads on a standby, so that the primary stays free for requests. */
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import pg from 'pg'
import { isoAt, MINUTE } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import type { Logger } from '../observe/log.ts'
import { type DatabaseAddress, type PgConnection, replicaClient } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { isDatabaseFailure } from './failures.ts'
import { logFailures } from './log-failures.ts'
import { readIn } from './read-in.ts'
import type { Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'
import { AWAY_MS, closeClient } from './verified-client.ts'

const PROBE_EVERY_MS = MINUTE
const PROBE_WAIT_MS = 10_000
const REPLAY_POLL_MS = 100
/** The maximum number of concurrent connections per process. */
const MAX_CONNECTIONS = 8

export interface ReplicaWork {
  name: string
  /** The maximum milliseconds until the standby is connected and has replayed everything before the work. */
  waitMs: number
  /**
   * Reads a row that was committed when the work began, which the standby must contain too. Comparing WAL positions is
   * not enough, because a standby of a former primary has a different history.
   */
  readBeginning(tx: TenantTx): Promise<unknown>
  /** Closes the connection when aborted. */
  signal?: AbortSignal
}

/** An open connection to a standby that contains everything committed before the work began. */
export interface Standby {
  readonly client: PgConnection
  /** The start of the work by the primary's clock, ISO 8601. */
  readonly begunAt: string
  /**
   * Logs a failed read, which the caller repeats on the primary. @throws errors not caused by the server or the network
   */
  giveUp(error: unknown): void
  close(): Promise<void>
}

export interface Replica {
  /**
   * Connects to the standby and waits until it has replayed all commits so far. @returns undefined, with the reason in
   * the log, if the standby cannot be used @throws errors of the primary
   */
  open(work: ReplicaWork): Promise<Standby | undefined>
  /** Returns when the standby became unusable (ISO 8601), or null if it is usable. */
  failingSince(): string | null
  close(): Promise<void>
}

export interface ReplicaDeps {
  db: Scopes
  log: Logger
  clock: Time
}

/** Thrown for a healthy server that must not be used as a replica, such as a primary. */
class Unsuitable extends Error {}

/** Thrown if the standby cannot be used. The log shows the message as the reason. */
class StandbyFailure extends Error {
  /** True if the server is healthy but unsuitable, such as a primary at the replica's address. */
  readonly isHarmless: boolean

  constructor(cause: unknown) {
    super(reasonOf(cause), { cause })
    this.isHarmless = cause instanceof Unsuitable
  }
}

/** Returns the message of an error. Logging the error itself would count as a failure of the primary. */
function reasonOf(error: unknown): string | undefined {
  const { message, code } = error as NodeJS.ErrnoException
  return message || code
}

/** Opens the replica, and probes it every minute to report a fault before any work needs the standby. */
export function openReplica(address: DatabaseAddress, { db, log, clock }: ReplicaDeps): Replica {
  const closing = new AbortController()
  let failingSince: string | null = null
  let connections = 0

  async function connect(work: ReplicaWork): Promise<Standby> {
    const deadline = clock.monotonic() + work.waitMs
    const beginning = await db.acrossTenants((tx) => readPosition(tx, work), 'read')
    const client = replicaClient(address)
    const end = () => void closeClient(client)
    work.signal?.addEventListener('abort', end)
    connections += 1
    const close = async () => {
      work.signal?.removeEventListener('abort', end)
      connections -= 1
      await closeClient(client)
    }
    try {
      work.signal?.throwIfAborted()
      await untilReplayed(client, { beginning, work, deadline, clock })
      return { client, begunAt: beginning.at, close, giveUp: (error) => giveUp(work, error) }
    } catch (error) {
      await close()
      throw new StandbyFailure(error)
    }
  }

  function giveUp({ name, signal }: ReplicaWork, error: unknown): void {
    if (signal?.aborted || !isOfServer(error)) throw error
    log.warn(
      { work: name, reason: reasonOf(error) },
      'replica read failed; reading from the primary',
    )
  }

  /** Connects to the standby, and records the result for the health report. @throws StandbyFailure */
  async function attempt(work: ReplicaWork): Promise<Standby> {
    try {
      const standby = await connect(work)
      if (failingSince !== null) log.info({}, 'replica usable again')
      failingSince = null
      return standby
    } catch (error) {
      if (error instanceof StandbyFailure && error.isHarmless) failingSince = null
      else if (error instanceof StandbyFailure && !work.signal?.aborted)
        failingSince ??= isoAt(clock)
      throw error
    }
  }

  const probe: ReplicaWork = {
    name: 'probe',
    waitMs: PROBE_WAIT_MS,
    readBeginning: async () => null,
    signal: closing.signal,
  }
  async function checkReplica(): Promise<boolean> {
    const wasFailing = failingSince !== null
    try {
      const standby = await attempt(probe)
      await standby.close()
    } catch (error) {
      if (!(error instanceof StandbyFailure)) throw error
      if (!wasFailing && failingSince !== null)
        log.warn({ reason: error.message }, 'replica not usable')
    }
    return false
  }
  const probing = poller(checkReplica, {
    clock,
    pollMs: PROBE_EVERY_MS,
    onError: logFailures('replica check', log),
  })

  return {
    async open(work) {
      const unused = (reason: string, level: 'info' | 'warn') =>
        void log[level]({ work: work.name, reason }, 'reading from the primary')
      if (connections >= MAX_CONNECTIONS)
        return unused(`all ${MAX_CONNECTIONS} connections to the replica are in use`, 'warn')
      try {
        const standby = await attempt(work)
        log.info({ work: work.name }, 'reading from the replica')
        return standby
      } catch (error) {
        work.signal?.throwIfAborted()
        if (error instanceof StandbyFailure)
          return unused(error.message, error.isHarmless ? 'info' : 'warn')
        throw error
      }
    },
    failingSince: () => failingSince,
    close() {
      closing.abort()
      return probing.stop()
    },
  }
}

/** Returns whether the server or the network caused the error, and not the code of the caller. */
const isOfServer = (error: unknown): boolean =>
  error instanceof pg.DatabaseError || isDatabaseFailure(error)

/** Selects two values that identify a database. They are the same on a physical replica and its primary. */
const IDENTITY = sql`(select system_identifier::text from pg_control_system()) as "systemId",
  (select oid::text from pg_database where datname = current_database()) as "databaseId"`

interface Position {
  systemId: string
  databaseId: string
  lsn: string
  at: string
  row: unknown
}

/** Reads the row of `readBeginning`, and then the primary's WAL position. */
async function readPosition(tx: TenantTx, work: ReplicaWork): Promise<Position> {
  const row = await work.readBeginning(tx)
  // Reads the time before the position, so that the position covers everything that was committed by that time.
  const { rows } = await sql<Omit<Position, 'row' | 'at'> & { now: number }>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
      pg_current_wal_lsn()::text as lsn, ${IDENTITY}`.execute(tx.db)
  const [position] = rows
  if (!position) throw new Error('the database did not return its position')
  const { now, ...rest } = position
  return { ...rest, row, at: new Date(Number(now)).toISOString() }
}

interface Replaying {
  beginning: Position
  work: ReplicaWork
  deadline: number
  clock: Time
}

/** Waits until the standby is up to date. @throws Unsuitable, or an error with the reason why it cannot be used */
async function untilReplayed(
  client: PgConnection,
  { beginning, work, deadline, clock }: Replaying,
): Promise<void> {
  const answered = <T>(answer: Promise<T>) => withDeadline(answer, Math.min(AWAY_MS, work.waitMs))
  await answered(client.connect())
  for (;;) {
    const behind = await answered(bytesBehind(client, beginning, clock))
    const isLate = clock.monotonic() + REPLAY_POLL_MS > deadline
    if (behind <= 0) {
      const row = await answered(readIn(client, null, work.readBeginning, clock))
      if (isDeepStrictEqual(row, beginning.row)) return
      if (isLate)
        throw new Error(
          'it does not contain the start of the work, because its history differs from that of the primary',
        )
    } else if (isLate) throw new Error(`it is ${behind} bytes behind`)
    await clock.delay(REPLAY_POLL_MS, { signal: work.signal })
  }
}

/** Returns the bytes of WAL that are not replayed yet. @throws Error if the server is not a replica of the database */
async function bytesBehind(
  client: PgConnection,
  beginning: Position,
  clock: Time,
): Promise<number> {
  const read = (tx: TenantTx) => readReplayed(tx, beginning.lsn)
  const found = await readIn(client, null, read, clock)
  if (found?.systemId !== beginning.systemId) throw new Error('it belongs to another cluster')
  if (found.databaseId !== beginning.databaseId)
    throw new Error('it is another database of the cluster')
  if (!found.isStandby) throw new Unsuitable('it is a primary')
  return Number(found.behind)
}

interface Replayed extends Pick<Position, 'systemId' | 'databaseId'> {
  isStandby: boolean
  behind: string
}

async function readReplayed(tx: TenantTx, lsn: string): Promise<Replayed | undefined> {
  const { rows } = await sql<Replayed>`select pg_is_in_recovery() as "isStandby", ${IDENTITY},
    pg_wal_lsn_diff(${lsn}::pg_lsn, pg_last_wal_replay_lsn())::text as behind`.execute(tx.db)
  return rows[0]
}
