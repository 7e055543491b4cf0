/** The SQL that finds a stopped key rotation. */
import { sql } from 'kysely'
import type { SealedTable } from '../../platform/crypto/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'

export interface StoppedRotation {
  rotation_id: string
  status: 'running' | 'failed'
  records_total: number
  records_done: number
  records_failed: number
  since: string
}

/** Returns the latest rotation if it failed, or if it is running and has made no progress for this many minutes. */
export async function findStopped(
  tx: TenantTx,
  minutes: number,
): Promise<StoppedRotation | undefined> {
  const { rows } = await sql<StoppedRotation>`
    select id::text as rotation_id, status, records_total, records_done, records_failed,
      coalesce(finished_at, progressed_at) as since
    from encryption_rotations
    where id = (select id from encryption_rotations order by number desc limit 1)
      and (status = 'failed'
        or status = 'running' and progressed_at < now() - make_interval(mins => ${minutes}))`.execute(
    tx.db,
  )
  return rows[0]
}

/** Returns true if any record is still encrypted with a retired key. */
export async function isAnyLeft(tx: TenantTx, sealed: readonly SealedTable[]): Promise<boolean> {
  for (const { table } of sealed) {
    const { rows } = await sql`
      select from data_keys k join ${sql.table(table)} t on t.data_key_id = k.id
      where k.retired_at is not null limit 1`.execute(tx.db)
    if (rows.length > 0) return true
  }
  return false
}
