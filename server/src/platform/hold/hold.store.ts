/** The SQL of the hold on what goes out by itself. */
import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'

/** Since when nothing goes out, ISO 8601; null where it does. */
export async function findHeldSince(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ since: string | null }>`
    select outbound_held_at as since from installation`.execute(tx.db)
  return rows[0]?.since ?? null
}

/** Returns since when it was held, ISO 8601; null where it was not. */
export async function release(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ since: string }>`
    update installation i set outbound_held_at = null
    from (select outbound_held_at as since from installation for update) as held
    where i.outbound_held_at is not null
    returning held.since`.execute(tx.db)
  return rows[0]?.since ?? null
}
