/** The writes to listed tables, by transaction: what a remembered total is checked against (`totals.ts`). */
import { sql } from 'kysely'
import type { Upkeep } from '../upkeep.ts'
import type { Scopes, TenantTx } from './scope.ts'

/** Twice as long as a total is remembered, so that a tick may be late by as much as a statement takes. */
const FORGET_EVERY_MS = 2 * 60_000

/** Whether the transaction sees no write to the tables that `snapshot` did not see. */
export function isUnchangedSince(tx: TenantTx, tables: readonly string[], snapshot: string) {
  // A list across tenants also changes with the tenants that are there.
  const watched = tx.tenantId === null ? [...tables, 'tenants'] : tables
  const ofTenant = tx.tenantId === null ? sql`` : sql`and w.tenant_id = ${tx.tenantId}`
  return sql<boolean>`not exists (select from list_writes w
    where w.xid >= pg_snapshot_xmin(${snapshot}::pg_snapshot)
      and not pg_visible_in_snapshot(w.xid, ${snapshot}::pg_snapshot)
      and w.list = any(${watched}::text[]) ${ofTenant})`
}

/**
 * Forgets writes that have been visible to everybody for longer than any total is remembered: those
 * that `before`, taken then, sees. Returns the snapshot to hand in next time. Numbers that this
 * cluster has not given out yet have come with the data of another one.
 */
export async function forgetWrites(db: Scopes, before: string | undefined): Promise<string> {
  return db.acrossTenants(async (tx) => {
    const { rows } = await sql<{ snapshot: string }>`
      select pg_current_snapshot()::text as snapshot`.execute(tx.db)
    const snapshot = rows[0]?.snapshot as string
    if (before)
      await sql`delete from list_writes
        where pg_visible_in_snapshot(xid, ${before}::pg_snapshot)
          or xid >= pg_snapshot_xmax(pg_current_snapshot())`.execute(tx.db)
    return snapshot
  })
}

/** Forgets every two minutes, on every node, what was written before the two minutes past. */
export function listWritesUpkeep(db: Scopes): Upkeep {
  let before: string | undefined
  return {
    what: 'forgetting writes to lists',
    everyMs: FORGET_EVERY_MS,
    isNeededToServe: false,
    async run() {
      before = await forgetWrites(db, before)
    },
  }
}
