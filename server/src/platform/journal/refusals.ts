/**
 * Refused calls, of which anybody signed in can make as many as they like: those of one session and
 * operation within a minute become one entry with a count.
 *
 * A refusal is counted in a row before it is answered, so that no crash loses one. The row becomes
 * an entry when its minute is over, at a stop, and before anyone reads the audit log: in the
 * transaction that deletes it, so that it does so once, whichever node comes first.
 */
import { sql } from 'kysely'
import { isoAt } from '../../lib/clock.ts'
import type { Time } from '../../lib/time.ts'
import type { Caller } from '../access/index.ts'
import { forCaller, type Scopes, type TenantTx } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { append } from './append.ts'
import type { RefusalsTable } from './journal.table.ts'

const MINUTE = 60_000
const LOOK_EVERY_MS = 10_000
const BATCH = 200

export interface Refusals {
  /** Counts a refusal of `operation` with the problem's code; resolves once it cannot be lost. */
  count(caller: Caller, operation: string, code: string): Promise<void>
  /** Writes the entries that are due from time to time. Returns how to stop that. */
  keepWritten(log: Logger, everyMs?: number): () => void
  /** Writes the entries of all refusals so far, of all tenants. */
  writeAll(): Promise<void>
}

/** Refusals that came while others of their kind were being written, and are written together. */
interface Batch {
  count: number
  written: Promise<void>
}

export function openRefusals(db: Scopes, clock: Time): Refusals {
  const waiting = new Map<string, Batch>()
  const writing = new Map<string, Promise<void>>()

  /** One statement at a time for each kind of refusal: many at once would queue for its row. */
  async function write(key: string, row: Omit<RefusalsTable, 'count' | 'first_at' | 'last_at'>) {
    await writing.get(key)?.catch(() => undefined)
    const count = waiting.get(key)?.count ?? 1
    waiting.delete(key)
    const now = isoAt(clock)
    const counted = db.inTenant(row.tenant_id, (tx) =>
      countIn(tx, { ...row, count, first_at: now, last_at: now }, isoAt(clock, -MINUTE)),
    )
    writing.set(key, counted)
    await counted.finally(() => {
      if (writing.get(key) === counted) writing.delete(key)
    })
  }

  async function writeBefore(before: string | null): Promise<void> {
    let written = BATCH
    while (written === BATCH)
      written = await db.acrossTenants((tx) => writeRefusals(tx, { before }))
  }

  return {
    count({ tenant_id, user_id, email, session_id, origin }, operation, code) {
      const key = `${session_id} ${operation} ${code}`
      const batch = waiting.get(key)
      if (batch) {
        batch.count += 1
        return batch.written
      }
      const { ip, user_agent, request_id } = origin
      const about = { tenant_id, session_id, operation, code, user_id, user_email: email }
      const next: Batch = { count: 1, written: Promise.resolve() }
      waiting.set(key, next)
      next.written = write(key, { ...about, ip, user_agent, request_id })
      return next.written
    },

    keepWritten(log, everyMs = LOOK_EVERY_MS) {
      const write = () => writeBefore(isoAt(clock, -MINUTE))
      return clock.every(
        everyMs,
        () => void canFail(write(), 'writing refusals into the journal', log),
      )
    },

    writeAll: () => writeBefore(null),
  }
}

/** Writes what waits of the refusals that a caller may see: for one who is about to read the journal. */
export async function writeSeenRefusals(
  db: Scopes,
  caller: Pick<Caller, 'role' | 'tenant_id'>,
): Promise<void> {
  if (!(await forCaller(db, caller, hasRefusals, 'read'))) return
  let written = BATCH
  while (written === BATCH) written = await forCaller(db, caller, (tx) => writeRefusals(tx))
}

/** Whether refusals of the scope wait to be written. */
async function hasRefusals(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql<{ some: boolean }>`
    select exists (select from refusals where ${inScope(tx)}) as some`.execute(tx.db)
  return rows[0]?.some === true
}

type Key = Pick<RefusalsTable, 'session_id' | 'operation' | 'code'>

/**
 * Writes the entries of the scope's refusals that began before a time, or of all, and of one key
 * where that is given: a batch at most. Returns how many. Who counts one more of them meanwhile
 * waits, and begins anew.
 */
async function writeRefusals(
  tx: TenantTx,
  { before = null, key }: { before?: string | null; key?: Key } = {},
): Promise<number> {
  const ofKey = key
    ? sql`and (session_id, operation, code) = (${key.session_id}, ${key.operation}, ${key.code})`
    : sql``
  // Materialized, as a plan may run a subquery once a row, and go beyond the batch.
  const { rows } = await sql<RefusalsTable>`
    with due as materialized (
      select session_id, operation, code from refusals
      where ${inScope(tx)} and (${before}::timestamptz is null or first_at <= ${before}::timestamptz)
        ${ofKey}
      order by session_id, operation, code limit ${BATCH} for update)
    delete from refusals where (session_id, operation, code) in (
      select session_id, operation, code from due)
    returning tenant_id, session_id, operation, code, count, first_at, last_at, user_id, user_email,
      ip, user_agent, request_id`.execute(tx.db)
  for (const refusal of rows) await append(tx, actorOf(refusal), refusalEntry(refusal))
  return rows.length
}

/** Those of deleted tenants as well: their entries are kept. */
const inScope = (tx: TenantTx) =>
  tx.tenantId === null ? sql<boolean>`true` : sql<boolean>`tenant_id = ${tx.tenantId}`

/**
 * Adds to the row of the minute; one whose minute is over is written first, and another begun. No
 * other row is touched: two that count would wait for each other's.
 */
async function countIn(tx: TenantTx, row: RefusalsTable, minuteAgo: string): Promise<void> {
  if (await upsert(tx, row, minuteAgo)) return
  await writeRefusals(tx, { before: minuteAgo, key: row })
  if (!(await upsert(tx, row, minuteAgo))) throw new Error('a refusal could not be counted')
}

async function upsert(tx: TenantTx, row: RefusalsTable, minuteAgo: string): Promise<boolean> {
  const counted = await tx.db
    .insertInto('refusals')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['session_id', 'operation', 'code'])
        .doUpdateSet({
          count: sql`refusals.count + excluded.count`,
          last_at: sql`greatest(refusals.last_at, excluded.last_at)`,
        })
        .where('refusals.first_at', '>', minuteAgo),
    )
    .returning('refusals.count')
    .executeTakeFirst()
  return counted !== undefined
}

function actorOf({ user_id, user_email, ip, user_agent, request_id }: RefusalsTable) {
  return { user_id, user_email, origin: { ip, user_agent, request_id } }
}

function refusalEntry({ tenant_id, operation, code, count, first_at, last_at }: RefusalsTable) {
  return {
    action: 'access.refused' as const,
    tenant_id,
    resource_type: 'operation',
    resource_id: operation,
    changes: { code, count, first_at, last_at },
  }
}
