import { sql } from 'kysely'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import type { Evidence, Finding } from '../../../platform/feature/fix.ts'
import '../self-healing.table.ts'

/** Inserts or updates findings. Skips findings whose tenant was purged after they were detected. */
export async function enterFindings(
  tx: TenantTx,
  fixId: number,
  findings: readonly Finding[],
  scan: { at: string; round: number },
): Promise<void> {
  if (findings.length === 0) return
  await sql`
    insert into self_healing_findings
      (fix_id, tenant_id, subject, measured, expected, first_seen, last_seen, round)
    select ${fixId}::bigint, f.tenant_id, f.subject, f.measured, f.expected,
      coalesce(f.since, ${scan.at}::timestamptz), ${scan.at}::timestamptz, ${scan.round}::integer
    from jsonb_to_recordset(${JSON.stringify(findings)}::jsonb)
      as f (tenant_id bigint, subject text, measured jsonb, expected jsonb, since timestamptz)
    where f.tenant_id is null or f.tenant_id in (select id from tenants)
    on conflict on constraint self_healing_findings__subject do update
      set measured = excluded.measured, expected = excluded.expected,
        last_seen = excluded.last_seen, round = excluded.round`.execute(tx.db)
}

/** Deletes the findings that the current round did not detect again. */
export async function endRound(tx: TenantTx, fixId: number, round: number): Promise<void> {
  await tx.db
    .deleteFrom('self_healing_findings')
    .where('fix_id', '=', fixId)
    .where('round', '<', round)
    .execute()
}

export async function forgetFindings(
  tx: TenantTx,
  fixId: number,
  findings: readonly Finding[],
): Promise<void> {
  if (findings.length === 0) return
  await sql`
    delete from self_healing_findings f
    using jsonb_to_recordset(${JSON.stringify(findings)}::jsonb)
      as g (tenant_id bigint, subject text)
    where f.fix_id = ${fixId} and f.subject = g.subject
      and f.tenant_id is not distinct from g.tenant_id`.execute(tx.db)
}

export async function countFindings(tx: TenantTx, fixId: number): Promise<number> {
  const { count } = await tx.db
    .selectFrom('self_healing_findings')
    .where('fix_id', '=', fixId)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/** Returns up to `limit` stored findings of a fix, oldest first. */
export function storedFindings(tx: TenantTx, fixId: number, limit: number): Promise<Finding[]> {
  return tx.db
    .selectFrom('self_healing_findings')
    .where('fix_id', '=', fixId)
    .select(['tenant_id', 'subject', 'measured', 'expected', 'first_seen as since'])
    .orderBy('first_seen')
    .orderBy('id')
    .limit(limit)
    .execute()
}

export interface Named {
  tenant_id: number | null
  subject: string
}

/** Marks all findings of a fix as recorded in the journal. Returns those that were not marked before. */
export function markProposed(tx: TenantTx, fixId: number, at: string): Promise<Named[]> {
  return tx.db
    .updateTable('self_healing_findings')
    .set({ proposed_at: at })
    .where('fix_id', '=', fixId)
    .where('proposed_at', 'is', null)
    .returning(['tenant_id', 'subject'])
    .execute()
}

/** A finding to show, with the total number of the fix's findings that the caller may see. */
export interface Shown {
  fix_id: number
  tenant_id: number | null
  subject: string
  measured: Evidence
  expected: Evidence
  since: string
  total: number
  last_seen: string
}

/** Returns up to `each` findings of each fix, oldest first. Returns only findings in the scope of the transaction. */
export async function showFindings(tx: TenantTx, each: number): Promise<Shown[]> {
  const condition =
    tx.tenantId === null
      ? sql`tenant_id is null or ${ofScope(tx, 'tenant_id')}`
      : ofScope(tx, 'tenant_id')
  const { rows } = await sql<Shown>`
    select fix_id, tenant_id, subject, measured, expected, first_seen as since, total, last_seen
    from (
      select fix_id, tenant_id, subject, measured, expected, first_seen,
        count(*) over (partition by fix_id) as total,
        max(last_seen) over (partition by fix_id) as last_seen,
        row_number() over (partition by fix_id order by first_seen, id) as place
      from self_healing_findings where ${condition}) found
    where place <= ${each} order by fix_id, place`.execute(tx.db)
  return rows
}
