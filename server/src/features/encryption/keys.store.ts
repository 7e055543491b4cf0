/** SQL that describes the keys without reading them. */
import { sql } from 'kysely'
import { EXACT_TOTAL } from '../../lib/page.ts'
import type { SealedTable } from '../../platform/crypto/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import type { EncryptionKeys } from './encryption.schema.ts'
import { countLeft } from './re-encryption.store.ts'

interface KeyRow {
  fingerprint: string
  root_created_at: string
  former: number
  key_id: number
  kek_created_at: string
  kek_retired: number
  keks_destroyed: number
  kek_destroyed_at: string | null
  current: number
  oldest_created_at: string | null
  retired: number
  keys_destroyed: number
  key_destroyed_at: string | null
}

/** Describes the stored and destroyed keys, and counts the records on old keys up to `EXACT_TOTAL`. */
export async function describeKeys(
  tx: TenantTx,
  sealed: readonly SealedTable[],
): Promise<EncryptionKeys> {
  const { rows } = await sql<KeyRow>`
    select r.fingerprint, r.created_at as root_created_at,
      (select count(*) from root_keys where sealed_key is not null) as former,
      e.id as key_id, e.created_at as kek_created_at,
      (select count(*) from key_encryption_keys where retired_at is not null) as kek_retired,
      k.current, k.oldest_created_at, k.retired,
      d.keks_destroyed, d.kek_destroyed_at, d.keys_destroyed, d.key_destroyed_at
    from root_keys r, key_encryption_keys e,
      (select count(*) filter (where retired_at is null) as current,
        min(created_at) filter (where retired_at is null) as oldest_created_at,
        count(*) filter (where retired_at is not null) as retired
        from data_keys) k,
      (select count(*) filter (where kind = 'key-encryption key') as keks_destroyed,
        max(destroyed_at) filter (where kind = 'key-encryption key') as kek_destroyed_at,
        count(*) filter (where kind = 'data key') as keys_destroyed,
        max(destroyed_at) filter (where kind = 'data key') as key_destroyed_at
        from destroyed_keys) d
    where r.retired_at is null and e.retired_at is null`.execute(tx.db)
  const [row] = rows
  if (!row) throw new Error('the database has no current key')
  return {
    root_key: {
      fingerprint: row.fingerprint,
      created_at: row.root_created_at,
      former: row.former,
    },
    key_encryption_key: {
      key_id: row.key_id,
      created_at: row.kek_created_at,
      retired: row.kek_retired,
      destroyed: row.keks_destroyed,
      last_destroyed_at: row.kek_destroyed_at,
    },
    data_keys: {
      current: row.current,
      oldest_created_at: row.oldest_created_at,
      retired: row.retired,
      destroyed: row.keys_destroyed,
      last_destroyed_at: row.key_destroyed_at,
    },
    records_on_old_keys: await countOld(tx, sealed),
  }
}

async function countOld(tx: TenantTx, sealed: readonly SealedTable[]): Promise<number> {
  let count = 0
  for (const { table } of sealed) {
    if (count >= EXACT_TOTAL) break
    count += await countLeft(tx, table, EXACT_TOTAL - count)
  }
  return count
}
