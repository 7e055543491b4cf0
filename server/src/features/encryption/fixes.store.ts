/** The SQL that finds rotations which got stuck, and keys that none has ended. */
import { sql } from 'kysely'
import type { SealedTable } from '../../platform/crypto/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'

/** Counted up to so many: more make no difference to anybody. */
const MOST = 10_000

export interface StoppedRotation {
  rotation_id: string
  status: 'running' | 'failed'
  records_total: number
  records_done: number
  records_failed: number
  since: string
}

/** The latest rotation, where it has failed, or has sealed nothing for so many minutes. */
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

/** Data keys and key-encryption keys that seal and wrap no more, and since when the oldest does not. */
export async function countRetired(tx: TenantTx): Promise<{ keys: number; since: string | null }> {
  const { rows } = await sql<{ keys: number; since: string | null }>`
    select count(*) as keys, min(retired_at) as since from (
      select retired_at from data_keys where retired_at is not null
      union all
      select retired_at from key_encryption_keys where retired_at is not null) retired`.execute(
    tx.db,
  )
  return rows[0] ?? { keys: 0, since: null }
}

/** The tables with rows of retired keys, each with how many, up to 10,000. */
export async function countLeft(
  tx: TenantTx,
  sealed: readonly SealedTable[],
): Promise<{ table: string; records: number }[]> {
  const found: { table: string; records: number }[] = []
  for (const { table } of sealed) {
    const { rows } = await sql<{ records: number }>`
      select count(*) as records from (
        select from data_keys k join ${sql.table(table)} t on t.data_key_id = k.id
        where k.retired_at is not null limit ${MOST}) few`.execute(tx.db)
    const records = rows[0]?.records ?? 0
    if (records > 0) found.push({ table, records })
  }
  return found
}

export async function currentKek(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    select id from key_encryption_keys where retired_at is null`.execute(tx.db)
  if (!rows[0]) throw new Error('there is no key-encryption key')
  return rows[0].id
}
