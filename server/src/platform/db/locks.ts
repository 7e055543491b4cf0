/** Takes PostgreSQL's advisory locks. */
import { sql } from 'kysely'
import { LOCKS } from './lock-numbers.ts'
import type { TenantTx } from './transaction.ts'

/** Waits until nobody else holds the lock, and holds it until the transaction ends. */
export async function lockUntilEnd(tx: TenantTx, lock: keyof typeof LOCKS): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS[lock]})`.execute(tx.db)
}

/** Takes the lock until the transaction ends, unless somebody else holds it. Returns whether it has. */
export async function tryLockUntilEnd(tx: TenantTx, lock: keyof typeof LOCKS): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select pg_try_advisory_xact_lock(${LOCKS[lock]}) as has`.execute(tx.db)
  return rows[0]?.has === true
}
