import { sql } from 'kysely'
import { LOCKS } from './lock-numbers.ts'
import type { TenantTx } from './transaction.ts'

/** Waits for the lock and holds it until the transaction ends. */
export async function lockUntilEnd(tx: TenantTx, lock: keyof typeof LOCKS): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS[lock]})`.execute(tx.db)
}

/** Takes the lock until the transaction ends, unless another session holds it. Never waits. */
export async function tryLockUntilEnd(tx: TenantTx, lock: keyof typeof LOCKS): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select pg_try_advisory_xact_lock(${LOCKS[lock]}) as has`.execute(tx.db)
  return rows[0]?.has === true
}

/** Sets a timeout in milliseconds for each later statement of the transaction. */
export function limitStatements(tx: TenantTx, ms: number): void {
  tx.send(sql`select set_config('statement_timeout', ${`${ms}ms`}, true)`.compile(tx.db))
}

/** Sets a timeout in milliseconds for each later lock wait of the transaction. */
export function limitLockWaits(tx: TenantTx, ms: number): void {
  tx.send(sql`select set_config('lock_timeout', ${`${ms}ms`}, true)`.compile(tx.db))
}
