/** The audit log's SQL: reading the journal. */
import { type Found, readPage, type TenantTx } from '../../platform/db/index.ts'
import type { AuditEntry, AuditQuery } from './audit.schema.ts'
import '../../platform/journal/journal.table.ts'

const COLUMNS = [
  'id',
  'tenant_id',
  'user_id',
  'user_email',
  'action',
  'resource_type',
  'resource_id',
  'changes',
  'ip',
  'user_agent',
  'request_id',
  'created_at',
] as const

/** The instants between which entries are looked for; `until` is not included. */
export interface Span {
  from?: string
  until?: string
}

export function listEntries(
  tx: TenantTx,
  query: AuditQuery,
  span: Span,
): Promise<Found<AuditEntry>> {
  let filtered = tx.db
    .selectFrom('journal')
    .select(COLUMNS)
    .$narrowType<{ changes: AuditEntry['changes'] }>()
  // Entries of deleted tenants stay visible to a superadmin, so the scope is not narrowed further.
  const tenantId = tx.tenantId ?? query.tenant_id
  if (tenantId) filtered = filtered.where('tenant_id', '=', tenantId)
  if (query.action) filtered = filtered.where('action', '=', query.action)
  if (query.user_id) filtered = filtered.where('user_id', '=', query.user_id)
  if (span.from) filtered = filtered.where('created_at', '>=', span.from)
  if (span.until) filtered = filtered.where('created_at', '<', span.until)
  // Ids rise with time, so this is the order of the ids all the same, but as the indexes have it.
  const ties = query.sort_by === 'id' ? [] : ['created_at', 'id']
  return readPage(tx, filtered, query, { column: query.sort_by, ties })
}
