import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'

/** Returns the age in seconds of the oldest entry that the export has not delivered, or 0 if there is none. */
export async function findLagSeconds(tx: TenantTx, name: string): Promise<number> {
  const next = (kind: string) => sql`(
    select xid, id, created_at from journal
    where ${sql.raw(kind)} and (xid, id) > (c.xid, c.id) order by xid, id limit 1)`
  const { rows } = await sql<{ seconds: number }>`
    select greatest(extract(epoch from now() - next.created_at), 0)::float8 as seconds
    from journal_consumers c cross join lateral (
      select created_at from (${next('not is_access')} union all ${next('is_access')}) kinds
      order by xid, id limit 1) next
    where c.consumer = ${name}`.execute(tx.db)
  return rows[0]?.seconds ?? 0
}
