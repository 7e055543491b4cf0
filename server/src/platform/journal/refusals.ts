/**
 * Journals refused calls. A signed-in user can cause any number of refusals. Refusals with the same session, operation
 * and code within a minute therefore share one entry with a count.
 *
 * Each refusal is counted in a row before the response, so that a crash loses none. The row becomes an entry when its
 * minute is over, on shutdown, and before the audit log is read. The same transaction deletes the row, so that only one
 * node writes the entry.
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
const CHECK_EVERY_MS = 10_000
const BATCH = 200

export interface Refusals {
  /** Counts a refusal of `operation` with the problem's code. Resolves when the count is durable. */
  count(caller: Caller, operation: string, code: string): Promise<void>
  /** Periodically writes the entries that are due. Returns a function that stops the timer. */
  keepWritten(log: Logger, everyMs?: number): () => void
  /** Writes the entries of all refusals so far, for all tenants. */
  writeAll(): Promise<void>
}

/** Refusals with the same key that arrived while an earlier one was being written. They are written together. */
interface Batch {
  count: number
  written: Promise<void>
}

export function openRefusals(db: Scopes, clock: Time): Refusals {
  const waiting = new Map<string, Batch>()
  const writing = new Map<string, Promise<void>>()

  /** Runs one statement at a time per key, because concurrent ones would wait for the same row. */
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

    keepWritten(log, everyMs = CHECK_EVERY_MS) {
      const write = () => writeBefore(isoAt(clock, -MINUTE))
      return clock.every(
        everyMs,
        () => void canFail(write(), 'recording of refusals in the journal', log),
      )
    },

    writeAll: () => writeBefore(null),
  }
}

/** Writes the entries of the refusals that the caller may see. They then appear when the caller reads the journal. */
export async function writeVisibleRefusals(
  db: Scopes,
  caller: Pick<Caller, 'role' | 'tenant_id'>,
): Promise<void> {
  if (!(await forCaller(db, caller, hasRefusals, 'read'))) return
  let written = BATCH
  while (written === BATCH) written = await forCaller(db, caller, (tx) => writeRefusals(tx))
}

/** Returns true if the transaction's scope contains refusals that have no journal entry yet. */
async function hasRefusals(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql<{ some: boolean }>`
    select exists (select from refusals where ${inScope(tx)}) as some`.execute(tx.db)
  return rows[0]?.some === true
}

type Key = Pick<RefusalsTable, 'session_id' | 'operation' | 'code'>

/**
 * Writes one batch of entries in the transaction's scope, optionally before a time or with one key. Returns their
 * number. A concurrent count waits and then starts a new row.
 */
async function writeRefusals(
  tx: TenantTx,
  { before = null, key }: { before?: string | null; key?: Key } = {},
): Promise<number> {
  const ofKey = key
    ? sql`and (session_id, operation, code) = (${key.session_id}, ${key.operation}, ${key.code})`
    : sql``
  // Materializes the subquery. Otherwise the plan may run it once per row and exceed the batch.
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

/** Includes refusals of deleted tenants, because their journal entries remain. */
const inScope = (tx: TenantTx) =>
  tx.tenantId === null ? sql<boolean>`true` : sql<boolean>`tenant_id = ${tx.tenantId}`

/**
 * Adds a refusal to the row of its minute. Writes the entry of an older row first. Changes no other row, because
 * concurrent counts would wait for each other.
 */
async function countIn(tx: TenantTx, row: RefusalsTable, minuteAgo: string): Promise<void> {
  if (await upsert(tx, row, minuteAgo)) return
  await writeRefusals(tx, { before: minuteAgo, key: row })
  if (!(await upsert(tx, row, minuteAgo))) throw new Error('a refusal could not be recorded')
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
