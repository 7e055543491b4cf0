/** SQL queries that list patients and search them through the blind index. */
import { type RawBuilder, sql } from 'kysely'
import type { Found, PageRequest } from '../../../lib/page.ts'
import { readPage, type Scoped, type TenantTx } from '../../../platform/db/index.ts'
import type { PatientQuery } from '../patients.schema.ts'
import type { PatientRow } from '../records/fields.ts'
import { COLUMNS, patientsOf } from '../records/records.store.ts'
import type { Sight } from '../sight/sight.store.ts'

/** The conditions besides the query: the patients that the caller can see, and tokens of which one must match. */
export interface PatientSearch {
  sight: Omit<Sight, 'grants'>
  /** The tokens of the search text; undefined if there is none. */
  text?: readonly Buffer[] | undefined
  birth?: readonly Buffer[] | undefined
}

const living = (scope: Scoped) => patientsOf(scope).select(COLUMNS)
const deleted = (scope: Scoped) => patientsOf(scope, 'deleted').select(COLUMNS)

export function listPatients(
  tx: TenantTx,
  asked: PageRequest<PatientQuery>,
  { sight: { condition, ...sight }, text, birth }: PatientSearch,
): Promise<Found<PatientRow>> {
  const { query } = asked
  return readPage(tx, asked, query.deleted ? deleted : living, {
    filter(patients) {
      let filtered = patients.where(condition)
      if (query.department_id) filtered = filtered.where('department_id', '=', query.department_id)
      if (query.attending_doctor_id)
        filtered = filtered.where('attending_doctor_id', '=', query.attending_doctor_id)
      if (text) filtered = filtered.where(isAmong(tx, text))
      if (birth) filtered = filtered.where(text ? hasAnyOf(birth) : isFoundBy(tx, birth))
      return filtered
    },
    ...sight,
    // Does not cache the count of a search. Counting is cheap, and changed encrypted fields do not invalidate counts.
    ...(text || birth ? {} : { countedIn: ['patients'] }),
    isAll: true,
    areFew: text !== undefined,
  })
}

/** Selects the ids of patients with any token. `= any(…)` is leakproof, so row-level security allows the index. */
const idsOf = ({ tenantId }: TenantTx, tokens: readonly Buffer[]) =>
  sql`select patient_id from patient_tokens
    where tenant_id = ${tenantId} and token = any(${tokens}::bytea[])`

/**
 * Matches patients by tokens that few patients share, such as a name. Finds the ids first, then looks up the patients
 * by id. From PostgreSQL 17 on, the index on ids also returns the patients in the order of the page.
 */
const isAmong = (tx: TenantTx, tokens: readonly Buffer[]) =>
  sql<boolean>`patients.id = any(array(${idsOf(tx, tokens)}))`

/** Matches patients by tokens that most patients may share. The planner selects a plan by the number of matches. */
const isFoundBy = (tx: TenantTx, tokens: readonly Buffer[]) =>
  sql<boolean>`patients.id in (${idsOf(tx, tokens)})`

/**
 * Checks the tokens of each patient that another condition has found. A birth date that is used as a placeholder may
 * match most patients of a tenant. `offset 0` prevents the planner from starting with the tokens, even if its
 * statistics are outdated.
 */
function hasAnyOf(tokens: readonly Buffer[]) {
  return sql<boolean>`exists (select from patient_tokens
    where patient_id = patients.id and token = any(${tokens}::bytea[]) offset 0)`
}

/** The maximum number of possible duplicates returned. A person would not review more. */
const MAX_DUPLICATES = 20

export async function findDuplicates(
  tx: TenantTx,
  id: number,
  { names, births, sight }: { names: Buffer[]; births: Buffer[]; sight: RawBuilder<boolean> },
): Promise<number[]> {
  const others = patientsOf(tx)
    .select('id')
    .where(sql<boolean>`patients.id = named.patient_id`)
    .where(sight)
    .where(hasAnyOf(births))
    .where('id', '<>', id)
    // Without `offset 0`, PostgreSQL would not look up each patient by id if its statistics are outdated.
    .offset(sql.lit(0))
  const { rows } = await sql<{ id: number }>`
    select distinct other.id from (${idsOf(tx, names)}) named cross join lateral (${others}) other
    order by other.id limit ${MAX_DUPLICATES}`.execute(tx.db)
  return rows.map((row) => row.id)
}

/** Finds the patient who has any of these tokens of an identifier, unless the patient is deleted. */
export async function findByIdentifier(
  tx: TenantTx,
  tokens: readonly Buffer[],
): Promise<number | undefined> {
  const row = await patientsOf(tx).select('id').where(isAmong(tx, tokens)).executeTakeFirst()
  return row?.id
}
