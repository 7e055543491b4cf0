/** The audit log's SQL: reading the journal. */
import { sql } from 'kysely'
import type { Asked, Found } from '../../lib/page.ts'
import type { Span } from '../../lib/span.ts'
import { readPage, type Scoped, type TenantTx } from '../../platform/db/index.ts'
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

export function listEntries(
  tx: TenantTx,
  asked: Asked<AuditQuery>,
  span: Span,
): Promise<Found<AuditEntry>> {
  return readPage(tx, asked, entries, {
    filter: (all) => narrowed(all, asked.query, span),
    countedIn: [],
  })
}

function entries({ db, tenantId }: Scoped) {
  const all = db
    .selectFrom('journal')
    .select(COLUMNS)
    .$narrowType<{ changes: AuditEntry['changes'] }>()
  // Entries of deleted tenants stay visible to a superadmin, so the scope is not narrowed further.
  return tenantId === null ? all : all.where('tenant_id', '=', tenantId)
}

function narrowed(all: ReturnType<typeof entries>, query: AuditQuery, span: Span) {
  let filtered = all
  if (query.action !== undefined) filtered = filtered.where('action', '=', query.action)
  if (query.user_id) filtered = filtered.where('user_id', '=', query.user_id)
  if (query.resource_type !== undefined) {
    filtered = filtered.where('resource_type', '=', query.resource_type)
    // Says of every entry what is true: the index begins with the action, and so it can be used.
    if (query.action === undefined)
      filtered = filtered.where(
        sql<boolean>`action = any(array(select action from journal_actions))`,
      )
  }
  if (query.resource_id !== undefined)
    filtered = filtered
      .where('resource_id', '=', query.resource_id)
      .where('resource_hash', '=', hashOf(query.resource_id))
  if (span.from) filtered = filtered.where('created_at', '>=', span.from)
  if (span.until) filtered = filtered.where('created_at', '<', span.until)
  return filtered
}

/** As the journal's column of that name is made of the id. */
const hashOf = (id: string) => sql<number>`('x' || left(md5(${id}), 8))::bit(32)::integer`
