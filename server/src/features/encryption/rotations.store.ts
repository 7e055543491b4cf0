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
    select ${COLUMNS} from encryption_rotations order by started_at desc, id limit 1`.execute(tx.db)
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
      set records_done = records_done + ${done}, progressed_at = now() where id = ${id}`.compile(
      tx.db,
    ),
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
        reason = ${end.reason}, finished_at = now()
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

/**
 * Whether some transaction began before every node had heard of the new keys, which is within a second after
 * they were committed: it may still write by the old ones alone.
 */
export async function hasEarlierWriters(tx: TenantTx, { seen_at }: Running): Promise<boolean> {
  const { rows } = await sql<{ are: boolean }>`
    select has_transactions_before(${seen_at}::timestamptz + interval '2 seconds') as are`.execute(
    tx.db,
  )
  return rows[0]?.are ?? true
}
