import { sql } from 'kysely'
import { ofInstallation, type TenantTx } from '../../platform/db/index.ts'
import './self-healing.table.ts'

/** Returns which of the fixes have findings in the scope, and when the newest finding was first seen. */
export async function findOpenFindings(
  tx: TenantTx,
  tenantId: number | null,
  fixIds: readonly number[],
): Promise<{ fix_id: number; since: string }[]> {
  const { rows } = await sql<{ fix_id: number; since: string }>`
    select f.id as fix_id, max(seen.first_seen) as since
    from unnest(${fixIds}::bigint[]) f (id) join lateral (
      select first_seen from self_healing_findings found
      where found.fix_id = f.id and ${ofInstallation(tx, 'found.tenant_id', tenantId)}
      limit 1000) seen on true
    group by f.id`.execute(tx.db)
  return rows
}
