/** Finds and deletes recorded writes to lists. A cached total is valid while none is newer (`totals.ts`). */
import { type RawBuilder, sql } from 'kysely'
import type { Scopes } from '../db/scope.ts'
import { statement } from '../db/statements.ts'
import type { SentStatement, TenantTx } from '../db/transaction.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'

/** The interval between deletions. It is twice the lifetime of a cached total, so that a late deletion is harmless. */
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

/** Queries whether the tables are unchanged since `snapshot`. Considers the writes that the transaction sees. */
export function isUnchangedSince(
  tx: TenantTx,
  tables: readonly string[],
  snapshot: string,
): SentStatement<{ is_unchanged: boolean }> {
  // A list across tenants also changes when tenants are added or removed.
  return tx.sendFor(
    tx.tenantId === null
      ? unchangedOfAll({ snapshot, tables: [...tables, 'tenants'], tenantId: 0 })
      : unchangedOfTenant({ snapshot, tables, tenantId: tx.tenantId }),
  )
}

/**
 * Deletes the recorded writes visible to the snapshot `before`, because every cached total is newer. Returns the next
 * snapshot. Also deletes rows with transaction ids that this cluster has not assigned yet (copied from another
 * cluster).
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

/** Deletes recorded writes that are more than two minutes old. Runs every two minutes on every node. */
export function listWritesUpkeep(db: Scopes): Upkeep {
  let before: string | undefined
  return {
    what: 'cleanup of list write markers',
    everyMs: FORGET_EVERY_MS,
    isNeededToServe: false,
    async run() {
      before = await forgetWrites(db, before)
    },
  }
}
