import { type RawBuilder, sql } from 'kysely'
import type { SealedTable } from '../../platform/crypto/index.ts'
import { lockUntilEnd, type TenantTx } from '../../platform/db/index.ts'
import type { LongJobRow } from '../../platform/feature/job-source.ts'
import type { Actor } from '../../platform/journal/index.ts'
import type { Rotation } from './encryption.schema.ts'

const COLUMNS = sql`id::text as rotation_id, status, key_id, records_total, records_done,
  records_failed, reason, started_at, finished_at`

async function one(tx: TenantTx, query: RawBuilder<Rotation>): Promise<Rotation> {
  const { rows } = await query.execute(tx.db)
  if (!rows[0]) throw new Error('no such rotation')
  return rows[0]
}

export const lockRotations = (tx: TenantTx) => lockUntilEnd(tx, 'keyRotation')

export async function findLatest(tx: TenantTx): Promise<Rotation | undefined> {
  const { rows } = await sql<Rotation>`
    select ${COLUMNS} from encryption_rotations order by number desc limit 1`.execute(tx.db)
  return rows[0]
}

export function insertRotation(
  tx: TenantTx,
  { keyId, total, actor }: { keyId: number; total: number; actor: Actor },
): Promise<Rotation> {
  return one(
    tx,
    sql`insert into encryption_rotations (key_id, records_total, actor)
      values (${keyId}, ${total}, ${JSON.stringify(actor)}) returning ${COLUMNS}`,
  )
}

/** Selects the rotations for the list of long jobs. */
export const ROTATION_JOBS = sql<LongJobRow>`
  select id::text, 'rotation' as kind, null::bigint as tenant_id, key_id::text as subject_id, status,
    case when status = 'running' and records_done < records_total then 'Re-encrypting the records'
      when status = 'running' then 'Waiting for earlier transactions' end as phase,
    records_done as done, records_total as total, 'records' as unit, reason as error,
    null::jsonb as result, actor, started_at as created_at, started_at, progressed_at,
    started_at as counted_since, finished_at, false as can_cancel
  from encryption_rotations`

/** Resumes a rotation that failed or stopped. Resets its failures and its end. */
export function resume(tx: TenantTx, id: string | null): Promise<Rotation> {
  return one(
    tx,
    sql`update encryption_rotations
      set status = 'running', records_failed = 0, reason = null, seen_at = null, finished_at = null,
        progressed_at = now()
      where id = ${id} returning ${COLUMNS}`,
  )
}

/** Adds to the number of re-encrypted records. Does not wait for the statement, which the commit does. */
export function addDone(tx: TenantTx, id: string, done: number): void {
  tx.send(
    sql`update encryption_rotations
      set records_done = records_done + ${done},
        -- A restore may have brought more records than were counted.
        records_total = greatest(records_total, records_done + ${done}),
        progressed_at = now() where id = ${id}`.compile(tx.db),
  )
}

export function finishRotation(
  tx: TenantTx,
  id: string | null,
  end: { status: 'completed' | 'failed'; failed: number; reason: string | null },
): Promise<Rotation> {
  return one(
    tx,
    sql`update encryption_rotations set status = ${end.status}, records_failed = ${end.failed},
        reason = ${end.reason}, finished_at = now(),
        -- Records that were written under the new key needed no work, and are done as well.
        records_done = case when ${end.status} = 'completed' then records_total else records_done end
      where id = ${id} returning ${COLUMNS}`,
  )
}

/** Counts all rows of the encrypted tables, of every tenant and including deleted rows. */
export async function countSealed(tx: TenantTx, sealed: readonly SealedTable[]): Promise<number> {
  let total = 0
  for (const { table } of sealed) {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)}`.execute(tx.db)
    total += rows[0]?.count ?? 0
  }
  return total
}

/** A running rotation, and the time at which its keys were first seen. */
export interface Running {
  rotation_id: string
  /** When a node first saw the new keys as committed, after the rotation was last started or resumed. */
  seen_at: string
}

/** Returns the running rotation, if any. The first call also records the current time as `seen_at`. */
export async function findRunningRotation(tx: TenantTx): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    update encryption_rotations set seen_at = coalesce(seen_at, now())
    where status = 'running' returning id::text as rotation_id, seen_at`.execute(tx.db)
  return rows[0]
}

/** Returns the running rotation. Returns undefined if there is none, or `seen_at` is not recorded yet. */
export async function findObservedRotation(tx: TenantTx): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    select id::text as rotation_id, seen_at from encryption_rotations
    where status = 'running' and seen_at is not null`.execute(tx.db)
  return rows[0]
}

/** An open database transaction. */
export interface OpenTransaction {
  pid: number
  application: string
  since: string
}

/** The transactions that may know only the old keys: whether there are any, how many, and the oldest one. */
export interface Earlier {
  are: boolean
  /** The number of these transactions. Once all nodes know the new keys, it can only decrease. */
  count: number
  oldest: OpenTransaction | null
}

/**
 * Returns the transactions that began before every node knew the new keys. A node may learn them up to a second after
 * the commit. Until then its transactions write with the old keys.
 */
export async function earlierWriters(tx: TenantTx, { seen_at }: Running): Promise<Earlier> {
  const { rows } = await sql<
    OpenTransaction & { is_early: boolean; pid: number | null; count: number }
  >`
    select now() < f.instant as is_early, t.pid, t.application, t.since, coalesce(t.count, 0) as count
    from (values (${seen_at}::timestamptz + interval '2 seconds')) f (instant)
      left join lateral (
        select pid, application, since, count(*) over () as count
        from transactions_before(f.instant) order by since limit 1) t on true`.execute(tx.db)
  const { is_early = true, pid = null, application = '', since = '', count = 0 } = rows[0] ?? {}
  const oldest = pid === null ? null : { pid, application, since }
  return { are: is_early || oldest !== null, count, oldest }
}
