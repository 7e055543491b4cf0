/** SQL for the transparency logs: their sizes, leaves, tiles and heads. */
import { type Selectable, sql } from 'kysely'
import { type TilePlace, Tiles } from '../../../lib/merkle/tree.ts'
import { byteaArray, type TenantTx } from '../../../platform/db/index.ts'
import type { AuditLeavesTable, AuditLogsTable, AuditTilesTable } from './transparency.table.ts'

/** The log of entries without a tenant. */
export const PLATFORM_LOG = 0

/** A log with its size and its last head. */
export type LogRow = {
  [K in (typeof LOG_COLUMNS)[number]]: AuditLogsTable[K] extends {
    readonly __select__: infer S
  }
    ? S
    : AuditLogsTable[K]
}

const FIRST_EPOCH = 1
export const LOG_COLUMNS = [
  'tenant_id',
  'epoch',
  'size',
  'head_size',
  'head_root',
  'checkpoint',
  'ended_at',
  'pruned_size',
] as const

/** The current log of each tenant. */
const current = (tx: TenantTx) =>
  tx.db.selectFrom('audit_logs').where('ended_at', 'is', null).select(LOG_COLUMNS)

/**
 * Locks the current logs of tenants, and creates the missing ones, so that leaves can be added.
 * @throws Error if a new epoch begins at the same time
 */
export async function openLogs(tx: TenantTx, tenantIds: readonly number[]): Promise<LogRow[]> {
  await sql`insert into audit_logs (tenant_id, epoch)
    select id, ${FIRST_EPOCH} from unnest(${tenantIds}::bigint[]) as log (id)
    where not exists (select from audit_logs where tenant_id = id)
    on conflict do nothing`.execute(tx.db)
  const found = current(tx).where('tenant_id', 'in', tenantIds).orderBy('tenant_id').forUpdate()
  const logs = await found.execute()
  if (logs.length < tenantIds.length) throw new Error('an audit log is beginning another epoch')
  return logs
}

/** Locks the current log of every tenant. */
export const lockLogs = (tx: TenantTx): Promise<LogRow[]> =>
  current(tx).orderBy('tenant_id').forUpdate().execute()

/** Ends the current logs, and creates the empty logs of the next epochs. */
export async function replaceLogs(
  tx: TenantTx,
  next: readonly Pick<LogRow, 'tenant_id' | 'epoch'>[],
): Promise<void> {
  const log = <N extends 'tenant_id' | 'epoch'>(name: N) => next.map((row) => row[name])
  await sql`update audit_logs set ended_at = now()
    where ended_at is null and tenant_id = any(${log('tenant_id')}::bigint[])`.execute(tx.db)
  await sql`insert into audit_logs (tenant_id, epoch)
    select * from unnest(${log('tenant_id')}::bigint[], ${log('epoch')}::int[])`.execute(tx.db)
}

/** Returns those of the entries that are already sealed. */
export async function listSealed(
  tx: TenantTx,
  entries: readonly { id: number; created_at: string }[],
): Promise<number[]> {
  if (entries.length === 0) return []
  const { rows } = await sql<{ entry_id: number }>`
    select leaf.entry_id from unnest(${entries.map(({ id }) => id)}::bigint[],
      ${entries.map(({ created_at }) => created_at)}::timestamptz[]) as entry (id, created_at)
    join audit_leaves leaf on leaf.entry_id = entry.id and leaf.created_at = entry.created_at`.execute(
    tx.db,
  )
  return rows.map(({ entry_id }) => entry_id)
}

/** Lists all logs that the transaction may see, by tenant. Later epochs come first, because they confirm earlier ones. */
export const listEpochs = (tx: TenantTx): Promise<LogRow[]> =>
  tx.db
    .selectFrom('audit_logs')
    .select(LOG_COLUMNS)
    .orderBy('tenant_id')
    .orderBy('epoch', 'desc')
    .execute()

/** Lists the current logs that the transaction may see, by tenant. */
export const listLogs = (tx: TenantTx, limit: number): Promise<LogRow[]> =>
  current(tx).orderBy('tenant_id').limit(limit).execute()

/** Finds the current log of a tenant. Returns undefined if there is none, or for another tenant. */
export const findLog = async (tx: TenantTx, tenantId: number): Promise<LogRow | undefined> =>
  tx.tenantId === null || tx.tenantId === tenantId
    ? current(tx).where('tenant_id', '=', tenantId).executeTakeFirst()
    : undefined

/** Locks one log. */
export const lockLog = (
  tx: TenantTx,
  { tenant_id, epoch }: Pick<LogRow, 'tenant_id' | 'epoch'>,
): Promise<LogRow> =>
  tx.db
    .selectFrom('audit_logs')
    .select(LOG_COLUMNS)
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .forUpdate()
    .executeTakeFirstOrThrow()

/** Locks logs of tenants above `after` that grew since their last anchors, in the order in which the sealer locks. */
export const lockGrownLogs = (tx: TenantTx, after: number, limit: number): Promise<LogRow[]> =>
  current(tx)
    .where('tenant_id', '>', after)
    .whereRef('size', '>', 'anchored_size')
    .orderBy('tenant_id')
    .limit(limit)
    .forUpdate()
    .execute()

/** A tile of one log. */
export type LogTile = Pick<LogRow, 'tenant_id' | 'epoch'> & TilePlace

/** Loads tiles of several logs with one query. Returns the tiles by tenant. */
export async function loadTiles(
  tx: TenantTx,
  wanted: readonly LogTile[],
): Promise<Map<number, Tiles>> {
  const found = new Map(wanted.map(({ tenant_id }) => [tenant_id, new Tiles()]))
  if (wanted.length === 0) return found
  const column = (name: keyof LogTile) => wanted.map((tile) => tile[name])
  const { rows } = await sql<AuditTilesTable>`
    select tenant_id, epoch, level, index, tile.hashes from unnest(${column('tenant_id')}::bigint[], ${column('epoch')}::int[],
      ${column('level')}::smallint[], ${column('index')}::bigint[])
      as wanted (tenant_id, epoch, level, index)
    join audit_tiles tile using (tenant_id, epoch, level, index)`.execute(tx.db)
  for (const { tenant_id, level, index, hashes } of rows)
    found.get(tenant_id)?.set({ level, index }, hashes)
  return found
}

/** A leaf that is sealed now. */
export type NewLeaf = Omit<AuditLeavesTable, 'who' | 'what' | 'who_salt' | 'what_salt'> & {
  who_salt: Buffer
  what_salt: Buffer
}

/** Writes sealed leaves, the changed tiles and the new sizes of the logs. Does not wait for the database. */
export function writeSealed(
  tx: TenantTx,
  leaves: readonly NewLeaf[],
  tiles: readonly AuditTilesTable[],
  logs: readonly LogRow[],
): void {
  const leaf = <N extends keyof NewLeaf>(name: N) => leaves.map((row) => row[name])
  tx.send(
    sql`insert into audit_leaves (tenant_id, epoch, index, entry_id, created_at, who_salt, what_salt, mark)
      select * from unnest(${leaf('tenant_id')}::bigint[], ${leaf('epoch')}::int[],
        ${leaf('index')}::bigint[], ${leaf('entry_id')}::bigint[], ${leaf('created_at')}::timestamptz[],
        ${byteaArray(leaf('who_salt'))}::bytea[], ${byteaArray(leaf('what_salt'))}::bytea[],
        ${leaf('mark')}::text[])`.compile(tx.db),
  )
  const tile = <N extends keyof AuditTilesTable>(name: N) => tiles.map((row) => row[name])
  tx.send(
    sql`insert into audit_tiles (tenant_id, epoch, level, index, hashes)
      select * from unnest(${tile('tenant_id')}::bigint[], ${tile('epoch')}::int[],
        ${tile('level')}::smallint[], ${tile('index')}::bigint[], ${tile('hashes')}::bytea[])
      on conflict (tenant_id, epoch, level, index) do update set hashes = excluded.hashes`.compile(
      tx.db,
    ),
  )
  const log = <N extends keyof LogRow>(name: N) => logs.map((row) => row[name])
  tx.send(
    sql`update audit_logs set size = grown.size
      from unnest(${log('tenant_id')}::bigint[], ${log('epoch')}::int[], ${log('size')}::bigint[])
        as grown (tenant_id, epoch, size)
      where audit_logs.tenant_id = grown.tenant_id and audit_logs.epoch = grown.epoch`.compile(
      tx.db,
    ),
  )
}

/** Remembers the head of a log that was just signed. */
export async function rememberHead(
  tx: TenantTx,
  { tenant_id, epoch, size }: LogRow,
  head_root: Buffer,
  checkpoint: string,
): Promise<void> {
  await tx.db
    .updateTable('audit_logs')
    .set({ head_size: size, head_root, checkpoint })
    .where('tenant_id', '=', tenant_id)
    .where('epoch', '=', epoch)
    .execute()
}

/** Remembers the sizes and roots of logs in an anchor. Later heads must extend them. */
export async function rememberAnchors(
  tx: TenantTx,
  anchors: readonly { row: LogRow; root: Buffer }[],
): Promise<void> {
  const log = <N extends keyof LogRow>(name: N) => anchors.map(({ row }) => row[name])
  await sql`update audit_logs log set anchored_size = anchor.size, head_size = anchor.size,
      head_root = anchor.root
    from unnest(${log('tenant_id')}::bigint[], ${log('epoch')}::int[], ${log('size')}::bigint[],
      ${byteaArray(anchors.map(({ root }) => root))}::bytea[]) as anchor (tenant_id, epoch, size, root)
    where log.tenant_id = anchor.tenant_id and log.epoch = anchor.epoch`.execute(tx.db)
}

/** Finds the leaf of an entry. Returns undefined if the entry is not sealed yet, or of another tenant. */
export function findLeaf(
  tx: TenantTx,
  entryId: number,
): Promise<Selectable<AuditLeavesTable> | undefined> {
  return tx.db
    .selectFrom('audit_leaves')
    .select([
      'tenant_id',
      'epoch',
      'index',
      'entry_id',
      'created_at',
      'who_salt',
      'what_salt',
      'who',
      'what',
      'mark',
    ])
    .where('entry_id', '=', entryId)
    .orderBy('epoch', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Returns the given salts that leaves already have, and the given commitments that erased leaves already have. */
export async function findReused(
  tx: TenantTx,
  salts: readonly Buffer[],
  commitments: readonly string[],
): Promise<{ salts: Buffer[]; commitments: string[] }> {
  if (salts.length === 0) return { salts: [], commitments: [] }
  const { rows } = await sql<Pick<AuditLeavesTable, 'who_salt'> & { who: string | null }>`
    select who_salt, null as who from audit_leaves where who_salt = any(${byteaArray(salts)}::bytea[])
    union all select null, who from audit_leaves where who = any(${commitments}::text[])`.execute(
    tx.db,
  )
  return {
    salts: rows.flatMap(({ who_salt }) => who_salt ?? []),
    commitments: rows.flatMap(({ who }) => who ?? []),
  }
}

/** Returns when this database began to write marks, or null if it had no earlier entries. */
export async function findMarksSince(tx: TenantTx): Promise<string | null> {
  const found = await tx.db.selectFrom('journal_marks').select('since').executeTakeFirst()
  return found?.since ?? null
}

/** Returns the times of the entries that were sealed last, by tenant. */
export async function findLastSealed(
  tx: TenantTx,
  logs: readonly LogRow[],
): Promise<Map<number, string>> {
  const log = <N extends keyof LogRow>(name: N) => logs.map((row) => row[name])
  const { rows } = await sql<Pick<AuditLeavesTable, 'tenant_id' | 'created_at'>>`
    select tenant_id, created_at from unnest(${log('tenant_id')}::bigint[],
      ${log('epoch')}::int[], ${log('size')}::bigint[]) as log (tenant_id, epoch, size)
    join audit_leaves leaf using (tenant_id, epoch) where leaf.index = log.size - 1`.execute(tx.db)
  return new Map(rows.map(({ tenant_id, created_at }) => [tenant_id, created_at]))
}
