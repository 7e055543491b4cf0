/** The audit log's SQL: reading the journal. */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Asked, Found } from '../../lib/page.ts'
import type { Span } from '../../lib/span.ts'
import { type Database, readPage, type Scoped, type TenantTx } from '../../platform/db/index.ts'
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

export async function listEntries(
  tx: TenantTx,
  asked: Asked<AuditQuery>,
  meant: Meant,
): Promise<Found<AuditEntry>> {
  const page = <O>(rows: (scope: Scoped) => Entries<O>) =>
    readPage(tx, asked, rows, {
      filter: (all) => narrowed(all, asked.query, meant),
      countedIn: [],
    })
  if (tx.tenantId === null || asked.query.sort_by !== 'id') return page(entries)
  // No index has this order. That by time has the numbers: what is not in the page is not read.
  const found = await page(keys)
  return { ...found, items: found.items.length > 0 ? await lookUp(tx, asked, found.items) : [] }
}

/** The parsed filters of a query. */
interface Meant {
  /** Undefined for all. */
  actions?: readonly string[] | undefined
  span?: Span
}

type Entries<O> = SelectQueryBuilder<Database, 'journal', O>

const entries = (scope: Scoped) =>
  within(scope).select(COLUMNS).$narrowType<{ changes: AuditEntry['changes'] }>()

type EntryKey = Pick<AuditEntry, 'id' | 'created_at'>
const keys = (scope: Scoped) => within(scope).select(['id', 'created_at'])

function within({ db, tenantId }: Scoped) {
  const all = db.selectFrom('journal')
  // Entries of deleted tenants stay visible to a superadmin, so the scope is not narrowed further.
  return tenantId === null ? all : all.where('tenant_id', '=', tenantId)
}

/** The entries of one page, in its order. */
function lookUp(
  tx: TenantTx,
  { query }: Asked<AuditQuery>,
  page: readonly EntryKey[],
): Promise<AuditEntry[]> {
  const ids = page.map(({ id }) => id)
  const times = page.map(({ created_at }) => created_at)
  return entries(tx)
    .where(
      sql<boolean>`(id, created_at) in (select * from unnest(${ids}::bigint[], ${times}::timestamptz[]))`,
    )
    .orderBy('id', query.sort_order)
    .execute()
}

function narrowed<O>(
  all: Entries<O>,
  query: AuditQuery,
  { actions, span = {} }: Meant,
): Entries<O> {
  let filtered = all
  if (actions) filtered = filtered.where(isAnyOf(actions))
  if (query.about_user) filtered = filtered.where(isAbout(query.about_user))
  if (query.user_id) filtered = filtered.where('user_id', '=', query.user_id)
  if (query.resource_type !== undefined) {
    filtered = filtered.where('resource_type', '=', query.resource_type)
    // Says of every entry what is true: the index begins with the action, and so it can be used.
    if (!actions)
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

function isAnyOf(actions: readonly string[]) {
  const [only, ...others] = actions
  return others.length === 0
    ? sql<boolean>`action = ${only}`
    : sql<boolean>`action = any(${actions}::text[])`
}

/** Matches entries by the user, and entries about their account. The list of actions makes the index by record usable. */
function isAbout(userId: number) {
  const id = String(userId)
  return sql<boolean>`(user_id = ${userId} or (action = any(array(select action from journal_actions))
    and resource_type = 'user' and resource_hash = ${hashOf(id)} and resource_id = ${id}))`
}

/** As the journal's column of that name is made of the id. */
const hashOf = (id: string) => sql<number>`('x' || left(md5(${id}), 8))::bit(32)::integer`
