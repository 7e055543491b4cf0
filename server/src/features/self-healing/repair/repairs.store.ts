import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Finding } from '../../../platform/feature/fix.ts'
import { findingNameOf } from '../detect/finding-name.ts'
import '../self-healing.table.ts'

/** Counts the automatic repairs of each finding after the given time. Returns the counts by finding name. */
export async function countRepairs(
  tx: TenantTx,
  fixId: number,
  since: string,
): Promise<ReadonlyMap<string, number>> {
  const rows = await tx.db
    .selectFrom('self_healing_repairs')
    .where('fix_id', '=', fixId)
    .where('at', '>', since)
    .groupBy(['tenant_id', 'subject'])
    .select(['tenant_id', 'subject', (eb) => eb.fn.countAll<number>().as('count')])
    .execute()
  return new Map(rows.map((row) => [findingNameOf(row), row.count]))
}

/** Records automatic repairs of the findings. Deletes records that are not newer than `since`. */
export async function noteRepairs(
  tx: TenantTx,
  fixId: number,
  findings: readonly Finding[],
  { at, since }: { at: string; since: string },
): Promise<void> {
  await tx.db
    .deleteFrom('self_healing_repairs')
    .where('fix_id', '=', fixId)
    .where('at', '<=', since)
    .execute()
  await sql`
    insert into self_healing_repairs (fix_id, tenant_id, subject, at)
    select ${fixId}::bigint, f.tenant_id, f.subject, ${at}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(findings)}::jsonb) as f (tenant_id bigint, subject text)
    where f.tenant_id is null or f.tenant_id in (select id from tenants)`.execute(tx.db)
}
