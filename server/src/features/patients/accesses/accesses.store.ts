/** SQL queries for accesses to a patient's record: journal entries about the patient, with their break-glass grants. */
import { type Expression, sql } from 'kysely'
import type { Found, PageRequest } from '../../../lib/page.ts'
import type { Role } from '../../../lib/roles.ts'
import { partOf, readPage, type TenantTx } from '../../../platform/db/index.ts'
import { ACTIONS, type Action, resourceHash } from '../../../platform/journal/index.ts'
import type { AccessQuery } from './accesses.schema.ts'
import '../patients.table.ts'
import '../../../platform/journal/journal.table.ts'

const OF_PATIENTS = (Object.keys(ACTIONS) as Action[]).filter((action) =>
  action.startsWith('patient.'),
)

export interface AccessRow {
  id: number
  action: string
  user_id: number | null
  user_email: string | null
  user_name: string | null
  user_role: Role | null
  created_at: string
  ip: string | null
  user_agent: string | null
  request_id: string | null
  fields: string[] | null
  grant_id: number | null
  purpose: string | null
  sealed_reason: Buffer | null
  granted_at: string | null
  expires_at: string | null
  ended_at: string | null
}

/** Lists one page of journal entries about a patient. First finds the keys of the entries, then loads the entries. */
export async function listAccesses(
  tx: TenantTx,
  patientId: number,
  asked: PageRequest<AccessQuery>,
): Promise<Found<AccessRow>> {
  const own = ownOf(tx, patientId)
  const inLists = inListsOf(tx, patientId)
  const isByTime = asked.query.sort_by === 'created_at'
  const part = isByTime ? byTimeOf(tx, patientId, asked) : partOf(own, asked)
  const latest = union(tx, part, partOf(inLists, asked, { id: 'entry_id' }))
  const all = union(tx, own, inLists)
  const found = await readPage(tx, asked, () => latest, { counted: () => all })
  return { ...found, items: found.items.length > 0 ? await lookUp(tx, patientId, found.items) : [] }
}

interface EntryKey {
  id: number
  created_at: string
}

/** Selects the keys of journal entries about this patient alone, excluding entries about lists of patients. */
function aboutOf(tx: TenantTx, patientId: number) {
  const id = String(patientId)
  return tx.db
    .selectFrom('journal')
    .select(['id', 'created_at'])
    .where('resource_type', '=', 'patient')
    .where('resource_id', '=', id)
    .where('resource_hash', '=', resourceHash(sql`${id}`))
    .where('tenant_id', '=', tx.tenantId)
}

/**
 * Selects the keys of entries about this patient for a page sorted by time. Queries each action separately, sorted by
 * the last column of its index. No other index has that column, so the planner cannot scan all entries of the tenant
 * instead.
 */
function byTimeOf(tx: TenantTx, patientId: number, asked: PageRequest<AccessQuery>) {
  const ofAction = aboutOf(tx, patientId)
    .where('action', '=', sql<Action>`a.action`)
    .select(sql<string>`case when resource_type = 'patient' then created_at end`.as('seen_at'))
  const entries = tx.db.selectFrom(ofAction.as('own')).select(['own.id', 'own.created_at'])
  const inPage = partOf(entries, asked, { created_at: 'seen_at' })
  return sql<EntryKey>`select own.id, own.created_at
    from unnest(${OF_PATIENTS}::text[]) a (action) cross join lateral (${inPage}) own`
}

/** Selects the keys of all entries about this patient alone, unsorted. */
function ownOf(tx: TenantTx, patientId: number) {
  const ofRecord = aboutOf(tx, patientId)
    .where('action', 'in', OF_PATIENTS)
    // Without `offset 0`, the planner might scan all entries of the tenant to find the patient's latest ones.
    .offset(sql.lit(0))
  return tx.db.selectFrom(ofRecord.as('own')).select(['own.id', 'own.created_at'])
}

/** Selects the keys of entries about lists that contained the patient. */
const inListsOf = (tx: TenantTx, patientId: number) =>
  tx.db
    .selectFrom('journal_resources')
    .select(['entry_id as id', 'created_at'])
    .where('tenant_id', '=', sql<number>`${tx.tenantId}`)
    .where('resource_type', '=', 'patient')
    .where('resource_id', '=', patientId)

const union = (
  tx: TenantTx,
  ...[one, other]: readonly [Expression<EntryKey>, Expression<EntryKey>]
) =>
  tx.db
    .selectFrom(sql<EntryKey>`(${one} union all ${other})`.as('e'))
    .select(['e.id', 'e.created_at'])

/** Reads the id of the grant from a journal entry. An entry about a list contains the ids of the grants by patient. */
const grantOf = (patientId: number) => sql<number>`coalesce(
  j.changes ->> 'grant_id', j.changes -> 'grants' ->> ${String(patientId)}::text)::bigint`

/** Loads the entries with these keys, in the given order. Adds the grants that allowed access to the patient. */
function lookUp(tx: TenantTx, patientId: number, keys: readonly EntryKey[]): Promise<AccessRow[]> {
  const ids = keys.map(({ id }) => id)
  const times = keys.map(({ created_at }) => created_at)
  const wanted = sql<EntryKey & { place: number }>`
    unnest(${ids}::bigint[], ${times}::timestamptz[]) with ordinality`
  return tx.db
    .selectFrom(wanted.as<'e'>(sql`e (id, created_at, place)`))
    .innerJoin('journal as j', (join) =>
      join.onRef('j.id', '=', 'e.id').onRef('j.created_at', '=', 'e.created_at'),
    )
    .leftJoin('patient_grants as g', (join) =>
      join.on('g.id', '=', grantOf(patientId)).onRef('g.tenant_id', '=', 'j.tenant_id'),
    )
    .leftJoin('users as u', (join) =>
      join.onRef('u.id', '=', 'j.user_id').onRef('u.tenant_id', '=', 'j.tenant_id'),
    )
    .where('j.tenant_id', '=', tx.tenantId)
    .select([
      'j.id',
      'j.action',
      'j.user_id',
      'j.user_email',
      'u.full_name as user_name',
      'u.role as user_role',
      'j.created_at',
      'j.ip',
      'j.user_agent',
      'j.request_id',
      sql<string[] | null>`j.changes -> 'fields'`.as('fields'),
      'g.id as grant_id',
      'g.purpose',
      'g.sealed_reason',
      'g.granted_at',
      'g.expires_at',
      'g.ended_at',
    ])
    .orderBy('e.place')
    .execute()
}
