/** The SQL of finding patients: lists, and by what the blind index knows. */
import { type RawBuilder, sql } from 'kysely'
import type { Asked, Found } from '../../../lib/page.ts'
import { readPage, type Scoped, type TenantTx } from '../../../platform/db/index.ts'
import type { PatientQuery } from '../patients.schema.ts'
import type { PatientRow } from '../records/fields.ts'
import { COLUMNS, patientsOf } from '../records/records.store.ts'
import type { Sight } from '../sight/sight.store.ts'

/** What is looked for beside the query itself: what the caller sees, and tokens of which one has to match. */
export interface Sought {
  sight: Omit<Sight, 'grants'>
  /** Of the text that is searched for. */
  text?: readonly Buffer[] | undefined
  birth?: readonly Buffer[] | undefined
}

const living = (scope: Scoped) => patientsOf(scope).select(COLUMNS)
const deleted = (scope: Scoped) => patientsOf(scope, 'deleted').select(COLUMNS)

export function listPatients(
  tx: TenantTx,
  asked: Asked<PatientQuery>,
  { sight: { condition, ...sight }, text, birth }: Sought,
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
    // What is sealed may change without a note; found by it are few, who are counted soon.
    ...(text || birth ? {} : { countedIn: ['patients'] }),
    isAll: true,
    areFew: text !== undefined,
  })
}

/** By `= any(…)`, which is leakproof, so that the index serves it under row-level security. */
const idsOf = ({ tenantId }: TenantTx, tokens: readonly Buffer[]) =>
  sql`select patient_id from patient_tokens
    where tenant_id = ${tenantId} and token = any(${tokens}::bytea[])`

/**
 * For what few have: their ids come first, and an index has the patients of these, in the order of a page as well from
 * PostgreSQL 17 on.
 */
const isAmong = (tx: TenantTx, tokens: readonly Buffer[]) =>
  sql<boolean>`patients.id = any(array(${idsOf(tx, tokens)}))`

/** For what a whole clinic may have: the planner looks at how many have it. */
const isFoundBy = (tx: TenantTx, tokens: readonly Buffer[]) =>
  sql<boolean>`patients.id in (${idsOf(tx, tokens)})`

/**
 * Asked of each that was found otherwise: a whole clinic may have one birth date, where somebody has entered it for
 * want of another. Behind `offset` no planner turns it round, however old its statistics.
 */
function hasAnyOf(tokens: readonly Buffer[]) {
  return sql<boolean>`exists (select from patient_tokens
    where patient_id = patients.id and token = any(${tokens}::bytea[]) offset 0)`
}

/** More of one name and birth date than anybody looks at. */
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
    // Each is then found by its id, whatever is known of the tables: somebody waits for every new patient.
    .offset(sql.lit(0))
  const { rows } = await sql<{ id: number }>`
    select distinct other.id from (${idsOf(tx, names)}) named cross join lateral (${others}) other
    order by other.id limit ${MAX_DUPLICATES}`.execute(tx.db)
  return rows.map((row) => row.id)
}

/** The living patient of an identifier, whose tokens these are. */
export async function findByIdentifier(
  tx: TenantTx,
  tokens: readonly Buffer[],
): Promise<number | undefined> {
  const row = await patientsOf(tx).select('id').where(isAmong(tx, tokens)).executeTakeFirst()
  return row?.id
}
