/** The SQL of rotations. */
import { type RawBuilder, sql } from 'kysely'
import type { SealedTable } from '../../platform/crypto/index.ts'
import { lockUntilEnd, type TenantTx } from '../../platform/db/index.ts'
import type { Rotation } from './encryption.schema.ts'

const COLUMNS = sql`id::text as rotation_id, status, key_id, records_total, records_done,
  records_failed, reason, started_at, finished_at`

async function one(tx: TenantTx, query: RawBuilder<Rotation>): Promise<Rotation> {
  const { rows } = await query.execute(tx.db)
  if (!rows[0]) throw new Error('there is no such rotation')
  return rows[0]
}

export const lockRotations = (tx: TenantTx) => lockUntilEnd(tx, 'keyRotation')

export async function findLatest(tx: TenantTx): Promise<Rotation | undefined> {
  const { rows } = await sql<Rotation>`
    select ${COLUMNS} from encryption_rotations order by number desc limit 1`.execute(tx.db)
  return rows[0]
}

export function insertRotation(tx: TenantTx, keyId: number, total: number): Promise<Rotation> {
  return one(
    tx,
    sql`insert into encryption_rotations (key_id, records_total)
      values (${keyId}, ${total}) returning ${COLUMNS}`,
  )
}

/** Has a failed rotation go on. */
export function resume(tx: TenantTx, id: string | null): Promise<Rotation> {
  return one(
    tx,
    sql`update encryption_rotations
      set status = 'running', records_failed = 0, reason = null, seen_at = null, finished_at = null,
        progressed_at = now()
      where id = ${id} returning ${COLUMNS}`,
  )
}

/** Nobody waits for it but the commit. */
export function addDone(tx: TenantTx, id: string, done: number): void {
  tx.send(
    sql`update encryption_rotations
      set records_done = records_done + ${done},
        -- A restore may have brought more records than were counted.
        records_total = greatest(records_total, records_done + ${done}),
        progressed_at = now() where id = ${id}`.compile(tx.db),
  )
}

export function finish(
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

/** Rows of all tables, whoever's and whether deleted or not. */
export async function countSealed(tx: TenantTx, sealed: readonly SealedTable[]): Promise<number> {
  let total = 0
  for (const { table } of sealed) {
    const { rows } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(table)}`.execute(tx.db)
    total += rows[0]?.count ?? 0
  }
  return total
}

/** A rotation that runs. */
export interface Running {
  rotation_id: string
  /** When its keys were first seen committed, since it was last asked for. */
  seen_at: string
}

/** The rotation that runs, if one does: whoever sees it first says so. */
export async function findRunning(tx: TenantTx): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    update encryption_rotations set seen_at = coalesce(seen_at, now())
    where status = 'running' returning id::text as rotation_id, seen_at`.execute(tx.db)
  return rows[0]
}

/** As `findRunning`, where somebody has seen it. */
export async function seenRunning(tx: TenantTx): Promise<Running | undefined> {
  const { rows } = await sql<Running>`
    select id::text as rotation_id, seen_at from encryption_rotations
    where status = 'running' and seen_at is not null`.execute(tx.db)
  return rows[0]
}

/** A transaction that is open. */
export interface OpenTransaction {
  pid: number
  application: string
  since: string
}

/** Whether there may be writers who know the old keys alone, how many, and the one who began first. */
export interface Earlier {
  are: boolean
  /** Never more than before, once no other can come. */
  count: number
  oldest: OpenTransaction | null
}

/**
 * The transactions that began before every node had heard of the new keys, which is within a second after
 * they were committed: they may still write by the old ones alone.
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
