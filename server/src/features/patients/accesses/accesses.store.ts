/** The SQL of who has seen or changed a patient's record: the journal's entries about it, and their grants. */
import { type Expression, sql } from 'kysely'
import type { Asked, Found } from '../../../lib/page.ts'
import type { Role } from '../../../lib/roles.ts'
import { partOf, readPage, type TenantTx } from '../../../platform/db/index.ts'
import { ACTIONS, type Action } from '../../../platform/journal/index.ts'
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

/** Which entries a page tells of is read along the indexes of the patient; these are then looked up. */
export async function listAccesses(
  tx: TenantTx,
  patientId: number,
  asked: Asked<AccessQuery>,
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

/** The entries about the patient alone. */
function aboutOf(tx: TenantTx, patientId: number) {
  const id = String(patientId)
  return tx.db
    .selectFrom('journal')
    .select(['id', 'created_at'])
    .where('resource_type', '=', 'patient')
    .where('resource_id', '=', id)
    .where(sql<boolean>`resource_hash = ('x' || left(md5(${id}), 8))::bit(32)::integer`)
    .where('tenant_id', '=', tx.tenantId)
}

/**
 * Those of them that can be in a page by time: of each action the index has them in the order of its own last column,
 * which is no column of another index, so that no planner walks through all that the tenant has done.
 */
function byTimeOf(tx: TenantTx, patientId: number, asked: Asked<AccessQuery>) {
  const ofAction = aboutOf(tx, patientId)
    .where('action', '=', sql<Action>`a.action`)
    .select(sql<string>`case when resource_type = 'patient' then created_at end`.as('seen_at'))
  const entries = tx.db.selectFrom(ofAction.as('own')).select(['own.id', 'own.created_at'])
  const inPage = partOf(entries, asked, { created_at: 'seen_at' })
  return sql<EntryKey>`select own.id, own.created_at
    from unnest(${OF_PATIENTS}::text[]) a (action) cross join lateral (${inPage}) own`
}

/** All of them, in no order. */
function ownOf(tx: TenantTx, patientId: number) {
  const ofRecord = aboutOf(tx, patientId)
    .where('action', 'in', OF_PATIENTS)
    // Fenced off: for a few of the latest, the planner would walk through all that the tenant has done.
    .offset(sql.lit(0))
  return tx.db.selectFrom(ofRecord.as('own')).select(['own.id', 'own.created_at'])
}

/** Those of lists in which the patient was. */
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

/** An entry about one patient names the grant itself, one of a list names those of its patients. */
const grantOf = (patientId: number) => sql<number>`coalesce(
  j.changes ->> 'grant_id', j.changes -> 'grants' ->> ${String(patientId)}::text)::bigint`

/** The entries with the grants by which they show the patient, in the order of the keys. */
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
