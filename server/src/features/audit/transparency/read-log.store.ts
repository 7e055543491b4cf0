/** SQL that reads sealed logs for exports and verification. It never writes. */
import { sql } from 'kysely'
import type { TilePlace } from '../../../lib/merkle/tree.ts'
import type { Span } from '../../../lib/span.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { resourceHash } from '../../../platform/journal/index.ts'
import { ENTRY_COLUMNS } from '../audit.store.ts'
import { type ERASED, type LeafEntry, type LeafSecrets, type PRUNED, SEALER_NAME } from './leaf.ts'
import { LOG_COLUMNS, type LogRow, PLATFORM_LOG } from './logs.store.ts'
import type { AuditLeavesTable, AuditTilesTable } from './transparency.table.ts'

type Log = Pick<LogRow, 'tenant_id' | 'epoch'>

/** A leaf with its entry, or null if the journal does not have it. */
export interface LeafRow
  extends Pick<AuditLeavesTable, 'index' | 'entry_id' | 'created_at' | 'mark'>,
    LeafSecrets {
  entry: LeafEntry | null
}

/** Reads consecutive leaves with their entries. */
export async function readLeaves(
  tx: TenantTx,
  { tenant_id, epoch }: Log,
  first: number,
  end: number,
): Promise<LeafRow[]> {
  const leaves = await tx.db
    .selectFrom('audit_leaves')
    .select(['index', 'entry_id', 'created_at', 'who_salt', 'what_salt', 'who', 'what', 'mark'])
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .where('index', '>=', first)
    .where('index', '<', end)
    .orderBy('index')
    .execute()
  const entries = await findEntries(tx, leaves)
  return leaves.map((leaf) => ({ ...leaf, entry: entries.get(leaf.entry_id) ?? null }))
}

type Key = Pick<AuditLeavesTable, 'entry_id' | 'created_at'>

/** Finds entries by id and time, and those that are not found by id alone, because their time may have been changed. */
async function findEntries(tx: TenantTx, keys: readonly Key[]): Promise<Map<number, LeafEntry>> {
  const ids = keys.map(({ entry_id }) => entry_id)
  const times = keys.map(({ created_at }) => created_at)
  const journal = tx.db.selectFrom('journal').select(ENTRY_COLUMNS)
  const found: LeafEntry[] = await journal
    .where(
      sql<boolean>`(id, created_at) in (select * from unnest(${ids}::bigint[], ${times}::timestamptz[]))`,
    )
    .execute()
  const known = new Set(found.map(({ id }) => id))
  const rest = ids.filter((id) => !known.has(id))
  if (rest.length > 0)
    found.push(...(await journal.where(sql<boolean>`id = any(${rest}::bigint[])`).execute()))
  return new Map(found.map((entry) => [entry.id, entry]))
}

/** Reads tiles. A tile that does not exist is missing in the map. */
export async function readTiles(
  tx: TenantTx,
  { tenant_id, epoch }: Log,
  { level, index: first }: TilePlace,
  count: number,
): Promise<Map<number, Buffer>> {
  const rows: Pick<AuditTilesTable, 'index' | 'hashes'>[] = await tx.db
    .selectFrom('audit_tiles')
    .select(['index', 'hashes'])
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .where('level', '=', level)
    .where('index', '>=', first)
    .where('index', '<', first + count)
    .execute()
  return new Map(rows.map(({ index, hashes }) => [index, hashes]))
}

/** Returns the number of leaves after the end of a log. */
export async function countLeavesAfter(
  tx: TenantTx,
  { tenant_id, epoch, size }: LogRow,
): Promise<number> {
  const { count } = await tx.db
    .selectFrom('audit_leaves')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .where('index', '>=', size)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Returns the condition that an entry belongs to a log. */
export const tenantIs = (tenantId: number) =>
  tenantId === PLATFORM_LOG ? sql`journal.tenant_id is null` : sql`journal.tenant_id = ${tenantId}`

/** Returns the changes of the orders about leaves of a part of a log. Only the service writes orders. */
export async function listOrders(
  tx: TenantTx,
  action: typeof ERASED | typeof PRUNED,
  { tenant_id, epoch }: Log,
  first: number,
  end: number,
): Promise<unknown[]> {
  const { rows } = await sql<{ changes: unknown }>`
    select journal.changes from journal join audit_leaves leaf
      on leaf.entry_id = journal.id and leaf.created_at = journal.created_at
    where ${tenantIs(tenant_id)} and journal.action = ${action}
      and journal.resource_type = 'audit_log' and journal.resource_hash = ${resourceHash(sql`${String(tenant_id)}`)}
      and leaf.tenant_id = ${tenant_id} and leaf.mark = 'ok'
      and exists (select from jsonb_to_recordset(journal.changes->'leaves')
          as erased (epoch bigint, first bigint, last bigint)
        where erased.epoch = ${epoch} and erased.first < ${end} and erased.last >= ${first})`.execute(
    tx.db,
  )
  return rows.map(({ changes }) => changes)
}

/** The time from which on an entry that commits late is not searched for. Transactions take at most minutes. */
const LATE = sql`interval '1 hour'`

/** Finds the indexes that the entries of a span of time have: from the first one until after the last one. */
export async function findRange(
  tx: TenantTx,
  { tenant_id, epoch }: Log,
  { from = '-infinity', until = 'infinity' }: Span,
): Promise<{ first: number; end: number } | undefined> {
  const spanned = sql`${tenantIs(tenant_id)}
    and journal.created_at >= ${from}::timestamptz
    and journal.created_at < ${until}::timestamptz`
  const indexes = sql`select leaf.index from journal join audit_leaves leaf on leaf.entry_id = journal.id
    and leaf.tenant_id = ${tenant_id} and leaf.epoch = ${epoch} where ${spanned}`
  // Entries are sealed in the order of their transactions, which differs a little from the order of their times.
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    with bounds as materialized (select
      (select created_at from journal where ${spanned} order by journal.created_at limit 1) as earliest,
      (select created_at from journal where ${spanned} order by journal.created_at desc limit 1) as latest)
    select
      (select min(index) from (${indexes}
        and journal.created_at <= (select earliest from bounds) + ${LATE}) as leaves) as first,
      (select max(index) from (${indexes}
        and journal.created_at >= (select latest from bounds) - ${LATE}) as leaves) as last
    `.execute(tx.db)
  const [found] = rows
  if (!found || found.first === null || found.last === null) return undefined
  return { first: found.first, end: found.last + 1 }
}

/** A position in the order of the journal by time. */
export interface JournalKey {
  created_at: string
  id: number
}

/**
 * Looks for entries without a leaf among the next `limit` entries of a tenant before a time, up to the position of the
 * sealer. Returns their ids, and the key of the last entry, or no key after the last entry.
 */
export async function findUnsealed(
  tx: TenantTx,
  { tenant_id }: Log,
  { after, until, limit }: { after: JournalKey; until: string; limit: number },
): Promise<{ ids: number[]; last: JournalKey | null }> {
  const { rows } = await sql<{ ids: number[]; last: JournalKey | null }>`
    with page as materialized (
      select id, xid, created_at from journal
      where ${tenantIs(tenant_id)}
        and created_at >= ${after.created_at}::timestamptz
        and created_at < ${until}::timestamptz
        and (created_at, id) > (${after.created_at}::timestamptz, ${after.id}::bigint)
      order by created_at, id limit ${limit}),
    sealer as (select xid, id from journal_consumers where consumer = ${SEALER_NAME})
    select
      array(select page.id from page, sealer
        where (page.xid, page.id) <= (sealer.xid, sealer.id)
          and not exists (select from audit_leaves leaf
            join audit_logs log using (tenant_id, epoch)
            where leaf.entry_id = page.id and leaf.tenant_id = ${tenant_id} and leaf.index < log.size
              -- An entry whose time was changed is found by its leaf.
              and (leaf.created_at = page.created_at or not exists (select from journal original
                where original.id = leaf.entry_id and original.created_at = leaf.created_at)))
        order by page.id)::float8[] as ids,
      (select jsonb_build_object('created_at', created_at, 'id', id) from page
        order by created_at desc, id desc limit 1) as last`.execute(tx.db)
  return rows[0] ?? { ids: [], last: null }
}

/** Finds a log in the snapshot of the transaction, without locking it. */
export const findStoredLog = (
  tx: TenantTx,
  { tenant_id, epoch }: Log,
): Promise<LogRow | undefined> =>
  tx.db
    .selectFrom('audit_logs')
    .select(LOG_COLUMNS)
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .executeTakeFirst()
