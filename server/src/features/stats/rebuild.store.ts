/** SQL that counts the journal again, and replaces the stored counts. */
import { sql } from 'kysely'
import type { TenantTx } from '../../platform/db/index.ts'
import { COUNTING_CONSUMER } from './counting.ts'
import { JOURNAL_SERIES } from './series.ts'
import '../../platform/journal/journal.table.ts'
import './stats.table.ts'

/** A position in the journal: entries are ordered by transaction id and id. */
export interface CountingPosition {
  xid: string
  id: number
}

/** Returns the position up to which the consumer has counted, or undefined if it has not started. */
export const findCountingPosition = (
  tx: TenantTx,
  { locks = false } = {},
): Promise<CountingPosition | undefined> => {
  const query = tx.db
    .selectFrom('journal_consumers')
    .select(['xid', 'id'])
    .where('consumer', '=', COUNTING_CONSUMER)
  return (locks ? query.forUpdate() : query).executeTakeFirst()
}

interface EntryCount {
  tenant_id: number | null
  action: string
  created_at: string
  count: number
}

export interface CountedChunk {
  counts: EntryCount[]
  /** The last entry of the chunk, or undefined if no entry is left. */
  last: (CountingPosition & { size: number }) | undefined
}

/** Counts the next entries after one position, up to another position and up to a limit. */
export async function countChunk(
  tx: TenantTx,
  after: CountingPosition,
  until: CountingPosition,
  limit: number,
): Promise<CountedChunk> {
  const entries = (isAccess: boolean) => sql`(
    select xid, id, tenant_id, action, created_at from journal
    where ${isAccess ? sql`is_access` : sql`not is_access`}
      and (xid, id) > (${after.xid}::xid8, ${after.id}) and (xid, id) <= (${until.xid}::xid8, ${until.id})
    order by xid, id limit ${limit})`
  const { rows } = await sql<{ chunk: CountedChunk }>`
    with entry as materialized (
      select xid, id, tenant_id, action, created_at
      from (${entries(false)} union all ${entries(true)}) as kinds
      order by xid, id limit ${limit}),
    counted as (
      select tenant_id, action, date_bin('15 minutes', created_at, timestamptz 'epoch') as created_at,
        count(*) as count
      from entry group by 1, 2, 3)
    select jsonb_build_object(
      'counts', (select coalesce(jsonb_agg(c), '[]') from counted c),
      'last', (select jsonb_build_object('xid', xid::text, 'id', id, 'size', (select count(*) from entry))
        from entry order by xid desc, id desc limit 1)) as chunk`.execute(tx.db)
  const { counts = [], last } = rows[0]?.chunk ?? {}
  return { counts, last: last ?? undefined }
}

/** The tenant of entries without one in `journal_prunings`. */
const NO_TENANT = 0

/** The time up to which the entries of each tenant were removed, or of the entries without a tenant (null). */
export type Prunings = ReadonlyMap<number | null, string>

/** Deletes the counts of the journal's series, except for slots whose entries were removed. @param waitMs how long to wait */
export async function deleteJournalCounts(
  tx: TenantTx,
  removed: Prunings,
  waitMs: number,
): Promise<void> {
  const statement = tx.db
    .deleteFrom('stats')
    .where('series', 'in', JOURNAL_SERIES)
    .where(
      sql<boolean>`not exists (
        select from unnest(${[...removed.keys()]}::bigint[], ${[...removed.values()]}::timestamptz[])
          as removed (tenant_id, until)
        where removed.tenant_id is not distinct from stats.tenant_id and stats.slot <= removed.until)`,
    )
    .compile()
  await tx.sendFor({ ...statement, waitMs }).rows
}

/** Returns the time up to which the entries of each tenant were removed. */
export async function listPrunings(tx: TenantTx): Promise<Prunings> {
  const found = await tx.db.selectFrom('journal_prunings').select(['tenant_id', 'until']).execute()
  return new Map(
    found.map(({ tenant_id, until }) => [tenant_id === NO_TENANT ? null : tenant_id, until]),
  )
}
