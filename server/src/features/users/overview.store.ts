/** SQL queries about users for the overview: pending registrations and the number of active users. */
import { sql } from 'kysely'
import { EXACT_TOTAL } from '../../lib/page.ts'
import { countRows, ofScope, type Scoped, type TenantTx } from '../../platform/db/index.ts'
import './users.table.ts'

const within = (scope: Scoped) => scope.db.selectFrom('users').where(ofScope(scope, 'tenant_id'))

/** Returns the condition of the partial indexes with literals. PostgreSQL cannot use the indexes with parameters. */
const waiting = (scope: Scoped) => within(scope).where(sql<boolean>`is_pending and not is_active`)

/** Counts the pending registrations, up to the limit for exact totals, and finds the oldest of them. */
export async function findWaiting(
  tx: TenantTx,
): Promise<{ count: number; oldest_since: string | null }> {
  const few = waiting(tx).select('id').limit(sql.lit(EXACT_TOTAL))
  const [counted, oldest] = await Promise.all([
    sql<{ count: number }>`select count(*) as count from (${few}) w`.execute(tx.db),
    waiting(tx).select('created_at').orderBy('tenant_id').orderBy('id').limit(1).executeTakeFirst(),
  ])
  return { count: counted.rows[0]?.count ?? 0, oldest_since: oldest?.created_at ?? null }
}

/** Counts the active users. Above the limit for exact totals, returns the planner's estimate. */
export async function countActive(tx: TenantTx): Promise<{ active: number; is_estimate: boolean }> {
  const [all, kept] = await Promise.all([
    countRows(tx, within(tx).select('id')),
    countRows(tx, within(tx).where(sql<boolean>`not is_active`).select('id')),
  ])
  return {
    active: Math.max(0, all.total - kept.total),
    is_estimate: all.estimated || kept.estimated,
  }
}
