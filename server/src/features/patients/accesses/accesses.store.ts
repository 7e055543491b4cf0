/** The SQL of who has seen or changed a patient's record: the journal's entries about it, and their grants. */
import { sql } from 'kysely'
import type { Asked, Found } from '../../../lib/page.ts'
import { readPage, type TenantTx } from '../../../platform/db/index.ts'
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

export function listAccesses(
  tx: TenantTx,
  patientId: number,
  asked: Asked<AccessQuery>,
): Promise<Found<AccessRow>> {
  const filtered = tx.db
    .selectFrom(entriesOf(tx, patientId).as('e'))
    .innerJoin('journal as j', (join) =>
      join.onRef('j.id', '=', 'e.entry_id').onRef('j.created_at', '=', 'e.created_at'),
    )
    .leftJoin('patient_grants as g', (join) =>
      join
        .on('g.id', '=', sql<number>`(j.changes ->> 'grant_id')::bigint`)
        .onRef('g.tenant_id', '=', 'j.tenant_id'),
    )
    .where('j.tenant_id', '=', tx.tenantId)
    .select([
      'j.id',
      'j.action',
      'j.user_id',
      'j.user_email',
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
  const columns = { id: 'e.entry_id', created_at: 'e.created_at' }
  return readPage(tx, asked, () => filtered, { columns })
}

/** The entries about the patient alone, and those of lists in which they were, each by its own index. */
function entriesOf(tx: TenantTx, patientId: number) {
  const id = String(patientId)
  return sql<{ entry_id: number; created_at: string }>`(
    select id as entry_id, created_at from journal
    where action = any(${OF_PATIENTS}::text[]) and resource_type = 'patient' and resource_id = ${id}
      and resource_hash = ('x' || left(md5(${id}), 8))::bit(32)::integer
      and tenant_id = ${tx.tenantId}
    union all
    select entry_id, created_at from journal_resources
    where tenant_id = ${tx.tenantId} and resource_type = 'patient' and resource_id = ${patientId})`
}
