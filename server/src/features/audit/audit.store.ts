/** SQL queries for the audit log, which reads the journal. */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Found, PageRequest } from '../../lib/page.ts'
import { type Database, readPage, type Scoped, type TenantTx } from '../../platform/db/index.ts'
import { ACTIONS, type Action, resourceHash, resourceTypeOf } from '../../platform/journal/index.ts'
import type { AuditFilters, AuditQuery, StoredEntry } from './audit.schema.ts'
import type { ParsedFilters } from './filters.ts'
import '../../platform/journal/journal.table.ts'

/** The columns of an entry that auditors see. */
export const ENTRY_COLUMNS = [
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
  asked: PageRequest<AuditQuery>,
  filters: ParsedFilters,
): Promise<Found<StoredEntry>> {
  const page = <O>(rows: (scope: Scoped) => Entries<O>) =>
    readPage(tx, asked, rows, {
      filter: (all) => narrowed(all, asked.query, filters),
      countedIn: [],
    })
  if (tx.tenantId === null || asked.query.sort_by !== 'id') return page(selectEntries)
  // No index has this order. The query first finds the keys of the page, and then loads only the entries of the page.
  const found = await page(keys)
  return { ...found, items: found.items.length > 0 ? await lookUp(tx, asked, found.items) : [] }
}

type Entries<O> = SelectQueryBuilder<Database, 'journal', O>

/** Selects the entries of the scope. */
export const selectEntries = (scope: Scoped) =>
  within(scope).select(ENTRY_COLUMNS).$narrowType<{ changes: StoredEntry['changes'] }>()

/** Identifies an entry, and its position in the order by time. */
export type EntryKey = Pick<StoredEntry, 'id' | 'created_at'>
const keys = (scope: Scoped) => within(scope).select(['id', 'created_at'])

function within({ db, tenantId }: Scoped) {
  const all = db.selectFrom('journal')
  // Does not filter by existing tenants, so that superadmins still see the entries of deleted tenants.
  return tenantId === null ? all : all.where('tenant_id', '=', tenantId)
}

/** Finds one entry, which the transaction may see. */
export const findStoredEntry = (tx: TenantTx, id: number): Promise<StoredEntry | undefined> =>
  selectEntries(tx).where('id', '=', id).executeTakeFirst()

/** Returns up to `limit` entries that match the filters and are older than the entry `before`, latest first. */
export function listEntriesBefore(
  tx: TenantTx,
  query: AuditFilters,
  filters: ParsedFilters,
  { before: { id, created_at }, limit }: { before: EntryKey; limit: number },
): Promise<StoredEntry[]> {
  return (
    narrowed(selectEntries(tx), query, filters)
      // The separate condition on the time lets PostgreSQL skip partitions that cannot match.
      .where('created_at', '<=', created_at)
      .where(sql<boolean>`(created_at, id) < (${created_at}::timestamptz, ${id}::bigint)`)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute()
  )
}

/** Returns a few fields that identify the entry with this key; undefined if it does not exist. */
export const findEntry = (tx: TenantTx, { id, created_at }: EntryKey) =>
  tx.db
    .selectFrom('journal')
    .select(['id', 'created_at', 'user_id', 'request_id'])
    .where('created_at', '=', created_at)
    .where('id', '=', id)
    .executeTakeFirst()

export async function isLive(tx: TenantTx, sessionId: string): Promise<boolean> {
  const live = tx.db.selectFrom('sessions').select('id').where('id', '=', sessionId)
  return (await live.where('ended_at', 'is', null).executeTakeFirst()) !== undefined
}

/** Loads the entries with the keys of a page, in the order of the page. */
function lookUp(
  tx: TenantTx,
  { query }: PageRequest<AuditQuery>,
  page: readonly EntryKey[],
): Promise<StoredEntry[]> {
  const ids = page.map(({ id }) => id)
  const times = page.map(({ created_at }) => created_at)
  return selectEntries(tx)
    .where(
      sql<boolean>`(id, created_at) in (select * from unnest(${ids}::bigint[], ${times}::timestamptz[]))`,
    )
    .orderBy('id', query.sort_order)
    .execute()
}

function narrowed<O>(
  all: Entries<O>,
  query: AuditFilters,
  { actions, span = {} }: ParsedFilters,
): Entries<O> {
  let filtered = all
  if (actions) filtered = filtered.where(isAnyOf(actions))
  if (query.about_user) filtered = filtered.where(isAbout(query.about_user))
  if (query.user_id) filtered = filtered.where('user_id', '=', query.user_id)
  if (query.request_id !== undefined) filtered = filtered.where('request_id', '=', query.request_id)
  if (query.ip !== undefined) filtered = filtered.where('ip', '=', query.ip)
  if (query.resource_type !== undefined) {
    filtered = filtered.where('resource_type', '=', query.resource_type)
    if (!actions) filtered = filtered.where(ANY_ACTION)
  }
  if (query.resource_id !== undefined)
    filtered = filtered
      .where('resource_id', '=', query.resource_id)
      .where('resource_hash', '=', resourceHash(sql`${query.resource_id}`))
  if (span.from) filtered = filtered.where('created_at', '>=', span.from)
  if (span.until) filtered = filtered.where('created_at', '<', span.until)
  return filtered
}

/** Matches every entry. PostgreSQL uses the index by resource only with a condition on actions, its first column. */
const ANY_ACTION = sql<boolean>`action = any(array(select action from journal_actions))`

function isAnyOf(actions: readonly string[]) {
  const [only, ...others] = actions
  return others.length === 0
    ? sql<boolean>`action = ${only}`
    : sql<boolean>`action = any(${actions}::text[])`
}

const OF_SESSIONS = (Object.keys(ACTIONS) as Action[]).filter(
  (action) => resourceTypeOf(action) === 'session',
)

/** Matches entries that a user caused or that concern the user's account and sessions, except purged sessions. */
function isAbout(userId: number) {
  const id = sql`${String(userId)}::text`
  const sessions = sql`select id::text from sessions where user_id = ${userId}`
  return sql<boolean>`(user_id = ${userId}
    or (${ANY_ACTION} and resource_type = 'user' and resource_hash = ${resourceHash(id)} and resource_id = ${id})
    or (action = any(${OF_SESSIONS}::text[]) and resource_type = 'session'
      and resource_hash = any(array(select ${resourceHash(sql`s.id`)} from (${sessions}) s (id)))
      and resource_id = any(array(${sessions}))))`
}
