/** The writes to listed tables, by transaction: what a remembered total is checked against (`totals.ts`). */
import { type RawBuilder, sql } from 'kysely'
import type { Upkeep } from '../upkeep.ts'
import type { Scopes } from './scope.ts'
import { statement } from './statements.ts'
import type { Sent, TenantTx } from './transaction.ts'

/** Twice as long as a total is remembered, so that a tick may be late by as much as a statement takes. */
const FORGET_EVERY_MS = 2 * 60_000

interface Watched {
  snapshot: string
  tables: readonly string[]
  tenantId: number
}

const unchangedWhere = (ofTenant: (tenantId: RawBuilder<number>) => RawBuilder<unknown>) =>
  statement<Watched>(
    (value) => sql`
      select not exists (select from list_writes w
        where w.xid >= pg_snapshot_xmin(${value('snapshot')}::pg_snapshot)
          and not pg_visible_in_snapshot(w.xid, ${value('snapshot')}::pg_snapshot)
          and w.list = any(${value('tables')}::text[]) ${ofTenant(value('tenantId'))}) as is_unchanged`,
  )
const unchangedOfTenant = unchangedWhere((tenantId) => sql`and w.tenant_id = ${tenantId}`)
const unchangedOfAll = unchangedWhere(() => sql``)

/** Asks whether the transaction sees no write to the tables that `snapshot` did not see. */
export function isUnchangedSince(
  tx: TenantTx,
  tables: readonly string[],
  snapshot: string,
): Sent<{ is_unchanged: boolean }> {
  // A list across tenants also changes with the tenants that are there.
  return tx.sendFor(
    tx.tenantId === null
      ? unchangedOfAll({ snapshot, tables: [...tables, 'tenants'], tenantId: 0 })
      : unchangedOfTenant({ snapshot, tables, tenantId: tx.tenantId }),
  )
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
