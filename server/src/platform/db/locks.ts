/** Takes PostgreSQL's advisory locks. */
import { sql } from 'kysely'
import { LOCKS } from './lock-numbers.ts'
import type { TenantTx } from './scope.ts'

/** Waits until nobody else holds the lock, and holds it until the transaction ends. */
export async function lockUntilEnd(tx: TenantTx, lock: keyof typeof LOCKS): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS[lock]})`.execute(tx.db)
}
