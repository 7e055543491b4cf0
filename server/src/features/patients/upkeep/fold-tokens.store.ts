/** The SQL statements that replace the search tokens of patients. */
import { sql } from 'kysely'
import { FOLD_VERSION } from '../../../lib/fold.ts'
import { byteaArray, type TenantTx } from '../../../platform/db/index.ts'
import type { PatientToken } from '../search/tokens.ts'
import '../patients.table.ts'

/**
 * Replaces all search tokens of patients whose rows are locked. If identifiers of two patients of a tenant become
 * equal, only the first patient gets the unique identifier token. A search for the value still finds both patients.
 */
export async function replaceTokens(
  tx: TenantTx,
  ids: readonly number[],
  tokens: readonly PatientToken[],
): Promise<void> {
  if (ids.length === 0) return
  await sql`delete from patient_tokens where patient_id = any(${ids}::bigint[])`.execute(tx.db)
  await sql`insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id, is_living)
    select p.tenant_id, p.id, t.kind, t.token, t.data_key_id, p.deleted_at is null
    from unnest(${tokens.map((one) => one.patient_id)}::bigint[],
      ${tokens.map((one) => one.kind)}::smallint[],
      ${byteaArray(tokens.map((one) => one.token))}::bytea[],
      ${tokens.map((one) => one.data_key_id)}::bigint[]) t (patient_id, kind, token, data_key_id)
    cross join lateral (select id, tenant_id, deleted_at from patients where id = t.patient_id offset 0) p
    on conflict do nothing`.execute(tx.db)
  await sql`update patients set fold_version = ${FOLD_VERSION} where id = any(${ids}::bigint[])`.execute(
    tx.db,
  )
}
