/** The SQL of finding patients: lists, and by what the blind index knows. */
import { type RawBuilder, sql } from 'kysely'
import type { Asked, Found } from '../../../lib/page.ts'
import { readPage, type TenantTx } from '../../../platform/db/index.ts'
import type { PatientQuery } from '../patients.schema.ts'
import type { PatientRow } from '../records/fields.ts'
import { COLUMNS, patientsOf } from '../records/records.store.ts'

/** What is looked for beside the query itself: the condition of sight, and tokens of which one has to match. */
export interface Sought {
  sight: RawBuilder<boolean>
  /** One list for each thing that is looked for. */
  tokens: readonly (readonly Buffer[])[]
}

export function listPatients(
  tx: TenantTx,
  asked: Asked<PatientQuery>,
  { sight, tokens }: Sought,
): Promise<Found<PatientRow>> {
  const { query } = asked
  let filtered = patientsOf(tx, query.deleted ? 'deleted' : 'living')
    .select(COLUMNS)
    .where(sight)
  if (query.department_id) filtered = filtered.where('department_id', '=', query.department_id)
  if (query.attending_doctor_id)
    filtered = filtered.where('attending_doctor_id', '=', query.attending_doctor_id)
  for (const one of tokens) filtered = filtered.where(isFoundBy(tx, one))
  return readPage(tx, asked, () => filtered)
}

/** By `= any(…)`, which is leakproof, so that the index serves it under row-level security. */
function isFoundBy(tx: TenantTx, tokens: readonly Buffer[]) {
  return sql<boolean>`patients.id in (select patient_id from patient_tokens
    where tenant_id = ${tx.tenantId} and token = any(${tokens}::bytea[]))`
}

/** More of one name and birth date than anybody looks at. */
const MAX_DUPLICATES = 20

export async function findDuplicates(
  tx: TenantTx,
  id: number,
  { names, births, sight }: { names: Buffer[]; births: Buffer[]; sight: RawBuilder<boolean> },
): Promise<number[]> {
  const rows = await patientsOf(tx)
    .select('id')
    .where(sight)
    .where(isFoundBy(tx, names))
    .where(isFoundBy(tx, births))
    .where('id', '<>', id)
    .orderBy('id')
    .limit(MAX_DUPLICATES)
    .execute()
  return rows.map((row) => row.id)
}

/** The living patient of an identifier, whose tokens these are. */
export async function findByIdentifier(
  tx: TenantTx,
  tokens: readonly Buffer[],
): Promise<number | undefined> {
  const row = await patientsOf(tx).select('id').where(isFoundBy(tx, tokens)).executeTakeFirst()
  return row?.id
}
