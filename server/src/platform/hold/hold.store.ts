/** The SQL of the hold on what goes out by itself. */
import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'

/** Since when nothing goes out, ISO 8601; null where it does. */
export async function findHeldSince(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ since: string | null }>`
    select outbound_held_at as since from installation`.execute(tx.db)
  return rows[0]?.since ?? null
}

/** Returns whether it was held. */
export async function release(tx: TenantTx): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update installation set outbound_held_at = null where outbound_held_at is not null`.execute(
    tx.db,
  )
  return numAffectedRows > 0n
}
