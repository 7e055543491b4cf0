/** Ensures that only one node migrates at a time when several nodes start together. */
import type pg from 'pg'
import type { Time } from '../../lib/time.ts'
import { type DatabaseAddress, ownerClient } from '../db/connection.ts'
import { LOCKS } from '../db/lock-numbers.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'

const LOG_EVERY_MS = 10_000

/**
 * Finds the session that holds the migration lock. An advisory lock with a single key has `classid` 0 and `objsubid` 1.
 */
const FIND_HOLDER = `select a.pid, a.application_name, coalesce(host(a.client_addr), 'local socket') as address,
    extract(epoch from clock_timestamp() - a.backend_start)::integer as connected_s,
    extract(epoch from clock_timestamp() - a.xact_start)::integer as transaction_s
  from pg_locks l join pg_stat_activity a using (pid)
  where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = ${LOCKS.migrations} and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())`

/**
 * Takes the migration lock for the session. Waits without a limit, and logs every 10 s which session holds the lock.
 */
export async function lockMigrations(
  client: pg.Client,
  address: DatabaseAddress,
  { log, clock }: { log: Logger; clock: Pick<Time, 'every'> },
): Promise<void> {
  const cancel = clock.every(LOG_EVERY_MS, () => {
    void canFail(logHolder(address, log), 'search for the holder of the migration lock', log)
  })
  try {
    await client.query('select pg_advisory_lock($1)', [LOCKS.migrations])
  } finally {
    cancel()
  }
}

async function logHolder(address: DatabaseAddress, log: Logger): Promise<void> {
  const client = ownerClient(address)
  try {
    await client.connect()
    const { rows } = await client.query(FIND_HOLDER)
    log.warn({ holder: rows[0] ?? null }, 'migrations are waiting for another process')
  } finally {
    await client.end()
  }
}
