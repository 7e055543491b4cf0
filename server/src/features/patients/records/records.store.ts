/** SQL queries for single patients and their search tokens. */
import { sql } from 'kysely'
import { FOLD_VERSION } from '../../../lib/fold.ts'
import { byteaArray, ofScope, type Scoped, type TenantTx } from '../../../platform/db/index.ts'
import type { PatientToken } from '../search/tokens.ts'
import { type PatientRow, SEALED_COLUMNS, type SealedColumns } from './fields.ts'
import '../patients.table.ts'

export const COLUMNS = [
  'id',
  'tenant_id',
  'department_id',
  'attending_doctor_id',
  'version',
  'created_at',
  'updated_at',
  'deleted_at',
  'data_key_id',
  ...SEALED_COLUMNS,
] as const

/** Selects the patients of the scope: either the deleted patients, or the patients that are not deleted. */
export function patientsOf(scope: Scoped, which: 'living' | 'deleted' = 'living') {
  return scope.db
    .selectFrom('patients')
    .where(ofScope(scope, 'patients.tenant_id'))
    .where('patients.deleted_at', which === 'living' ? 'is' : 'is not', null)
}

export function findPatient(tx: TenantTx, id: number): Promise<PatientRow | undefined> {
  return patientsOf(tx).select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

export function listById(tx: TenantTx, ids: readonly number[]): Promise<PatientRow[]> {
  return patientsOf(tx)
    .select(COLUMNS)
    .where('id', '=', sql<number>`any(${ids}::bigint[])`)
    .execute()
}

/** Returns whether the patient exists in the scope, even if deleted. */
export async function hasPatient(tx: TenantTx, id: number): Promise<boolean> {
  const found = await tx.db
    .selectFrom('patients')
    .select('id')
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .executeTakeFirst()
  return found !== undefined
}

/** Finds a patient like `findPatient`, and locks the row until the transaction ends. */
export function lockPatient(
  tx: TenantTx,
  id: number,
  which: 'living' | 'deleted' = 'living',
): Promise<PatientRow | undefined> {
  return patientsOf(tx, which)
    .select(COLUMNS)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** Reserves ids before the insertion, because the encryption binds each value to the id of its row. */
export async function nextPatientIds(tx: TenantTx, count: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('patients', 'id')) as id
    from generate_series(1, ${count})`.execute(tx.db)
  return rows.map(({ id }) => id)
}

export interface NewPatientRow extends SealedColumns {
  id: number
  tenant_id: number
  department_id: number | null
  attending_doctor_id: number | null
}

export async function insertPatient(tx: TenantTx, row: NewPatientRow): Promise<PatientRow> {
  return tx.db
    .insertInto('patients')
    .values({ ...row, fold_version: FOLD_VERSION })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** Updates a patient whose row is locked, and returns the new row. */
export function updatePatient(
  tx: TenantTx,
  id: number,
  change: Partial<SealedColumns> & {
    department_id?: number | null
    attending_doctor_id?: number | null
  },
): Promise<PatientRow> {
  return tx.db
    .updateTable('patients')
    .set({ ...change, version: sql`version + 1`, updated_at: sql`now()` })
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** Marks a patient and their search tokens as deleted, or as no longer deleted. */
export async function markPatientDeleted(
  tx: TenantTx,
  id: number,
  isDeleted: boolean,
): Promise<PatientRow> {
  const row = await tx.db
    .updateTable('patients')
    .set({
      deleted_at: isDeleted ? sql`now()` : null,
      version: sql`version + 1`,
      updated_at: sql`now()`,
    })
    .where('id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
  await tx.db
    .updateTable('patient_tokens')
    .set({ is_living: !isDeleted })
    .where('patient_id', '=', id)
    .where(ofScope(tx, 'tenant_id'))
    .execute()
  return row
}

/**
 * Inserts the search tokens that are missing. The unique index rejects an identifier that another patient has. `offset
 * 0` makes PostgreSQL look up each patient by id. Without it, a plan that was cached while the table was small would
 * scan the whole table after the table has grown.
 */
export function insertTokens(
  tx: TenantTx,
  tenantId: number,
  tokens: readonly PatientToken[],
): void {
  if (tokens.length === 0) return
  tx.send(
    sql`insert into patient_tokens (tenant_id, patient_id, kind, token, data_key_id, is_living)
      select p.tenant_id, p.id, t.kind, t.token, t.data_key_id, p.deleted_at is null
      from unnest(${tokens.map((one) => one.patient_id)}::bigint[],
        ${tokens.map((one) => one.kind)}::smallint[],
        ${byteaArray(tokens.map((one) => one.token))}::bytea[],
        ${tokens.map((one) => one.data_key_id)}::bigint[]) t (patient_id, kind, token, data_key_id)
      cross join lateral (select id, tenant_id, deleted_at from patients
        where id = t.patient_id and tenant_id = ${tenantId} offset 0) p
      on conflict (patient_id, token) do nothing`.compile(tx.db),
  )
}

/** Deletes a patient's search tokens of the given kinds, under every data key. */
export function deleteTokens(tx: TenantTx, id: number, kinds: readonly number[]): void {
  tx.send(
    tx.db
      .deleteFrom('patient_tokens')
      .where('patient_id', '=', id)
      .where(ofScope(tx, 'tenant_id'))
      .where('kind', '=', sql<number>`any(${kinds}::smallint[])`)
      .compile(),
  )
}
