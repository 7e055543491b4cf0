import { sql } from 'kysely'
import type { TenantTx } from '../db/index.ts'

/** Returns when outgoing messages were paused (ISO 8601), or null if they are not paused. */
export async function findHeldSince(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ since: string | null }>`
    select outbound_held_at as since from installation`.execute(tx.db)
  return rows[0]?.since ?? null
}

/** Ends the pause. Returns when outgoing messages were paused (ISO 8601), or null if they were not paused. */
export async function releaseHold(tx: TenantTx): Promise<string | null> {
  const { rows } = await sql<{ since: string }>`
    update installation i set outbound_held_at = null
    from (select outbound_held_at as since from installation for update) as held
    where i.outbound_held_at is not null
    returning held.since`.execute(tx.db)
  return rows[0]?.since ?? null
}
