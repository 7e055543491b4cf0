/** The SQL that applies the staged rows. Writes only rows that differ, so an unchanged table is not touched. */

import type { PgConnection } from '../../../platform/db/index.ts'
import type { RestoreRule, RestoreRules } from '../../../platform/feature/restore-rule.ts'
import type { Difference } from './outcome.ts'
import { id, matching, type Staged, stageOf } from './stage.store.ts'

const ENDING: readonly RestoreRule[] = ['ended', 'closed']

/** A column of a unique index, with a temporary value. A row gets this value until its new value causes no conflict. */
interface Parked {
  column: string
  value: string
}

/** A staged table with its restore rule. Includes its unique column if its rows could conflict. */
export type Ruled = Staged & { rule: RestoreRule; parked?: Parked | undefined }

const listOf = (columns: readonly string[], of?: string) =>
  columns.map((column) => (of ? `${of}.${id(column)}` : id(column))).join(', ')
/** Returns the columns to compare and write. Key columns are excluded, because they identify the row. */
const valuesOf = ({ columns, key }: Staged) => columns.filter((column) => !key.includes(column))

/**
 * Returns true if live rows that the backup does not contain are removed. Excludes tenants, which another step deletes,
 * and keys, which are never removed.
 */
const isCleared = ({ name, tenant, rule }: Ruled) =>
  rule === 'restored' && tenant !== null && name !== 'tenants'

/** Selects the live rows to remove. Affects only tenants in the backup, so rows of newer tenants are kept. */
const REMOVED = (table: Staged) =>
  `from ${id(table.name)} live where live.${id(table.tenant ?? 'id')} in (select id from stage_tenants) and not exists (
     select from ${stageOf(table.name)} stage where ${matching(table)})`

const ADDED = (table: Staged) =>
  `from ${stageOf(table.name)} stage where not exists (
     select from ${id(table.name)} live where ${matching(table)})`

/** Compares rows as text, because some types such as json have no equality operator. */
const DIFFERS = (values: readonly string[]) =>
  `(${listOf(values, 'live')})::text is distinct from (${listOf(values, 'stage')})::text`

/** Counts the rows that `apply` would add, change and remove. */
export async function compare(client: PgConnection, table: Ruled): Promise<Difference> {
  const count = (text: string) => countOf(client, text)
  const added = await count(ADDED(table))
  if (table.rule !== 'restored') return { added, changed: 0, removed: 0 }
  const values = valuesOf(table)
  const changed =
    values.length === 0
      ? 0
      : await count(`from ${id(table.name)} live join ${stageOf(table.name)} stage
          on ${matching(table)} where ${DIFFERS(values)}`)
  return { added, changed, removed: isCleared(table) ? await count(REMOVED(table)) : 0 }
}

async function countOf(client: PgConnection, text: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`select count(*) as count ${text}`)
  return Number(rows[0]?.count)
}

/** Applies the staged rows of all tables. @param tables ordered so that each table follows the tables it references */
export async function apply(
  client: PgConnection,
  tables: readonly Ruled[],
): Promise<Record<string, Difference>> {
  const differences: Record<string, Difference> = {}
  for (const table of tables) differences[table.name] = { added: 0, changed: 0, removed: 0 }
  const note = (table: Ruled, kind: keyof Difference, rows: number | null) => {
    const difference = differences[table.name]
    if (difference) difference[kind] = rows ?? 0
  }
  const restored = tables.filter(({ rule }) => rule === 'restored')
  const parked = new Map<Ruled, number>()
  for (const table of restored) parked.set(table, await park(client, table))
  for (const table of restored.filter(isCleared).toReversed())
    note(table, 'removed', (await client.query(`delete ${REMOVED(table)}`)).rowCount)
  const unfinished = new Map<Ruled, number>()
  for (const table of tables) {
    unfinished.set(table, await countUnfinished(client, table))
    note(table, 'added', await insert(client, table))
  }
  for (const table of restored) {
    const changed = (parked.get(table) ?? 0) + (await update(client, table))
    note(table, 'changed', changed - (unfinished.get(table) ?? 0))
  }
  return differences
}

/**
 * Sets temporary values in unique columns, and null in columns that the deletions would set to null. Returns the number
 * of rows that then match the stage. The later update skips these rows, so they must be counted here.
 */
async function park(client: PgConnection, table: Ruled): Promise<number> {
  const emptied = table.emptied.map((column) => ({ column, value: 'null' }))
  let same = 0
  for (const parked of table.parked ? [table.parked, ...emptied] : emptied)
    same += await parkColumn(client, table, parked)
  return same
}

async function parkColumn(
  client: PgConnection,
  table: Ruled,
  { column, value }: Parked,
): Promise<number> {
  const now = `live.${id(column)}`
  const { rows } = await client.query<{ count: string }>(
    `with parked as (
       update ${id(table.name)} live set ${id(column)} = ${value} from ${stageOf(table.name)} stage
       where ${matching(table)} and ${now} is distinct from stage.${id(column)}
         and ${now} is distinct from ${value}
       returning ${DIFFERS(valuesOf(table))} as differs)
     select count(*) as count from parked where not differs`,
  )
  return Number(rows[0]?.count)
}

/** Counts new rows that are inserted without their references to later rows. The later update adds these references. */
async function countUnfinished(client: PgConnection, table: Ruled): Promise<number> {
  if (table.late.length === 0) return 0
  const some = table.late.map((column) => `stage.${id(column)} is not null`).join(' or ')
  return countOf(client, `${ADDED(table)} and (${some})`)
}

async function insert(client: PgConnection, table: Ruled): Promise<number | null> {
  const columns = table.columns.filter((column) => !table.late.includes(column))
  const { rowCount } = await client.query(
    `insert into ${id(table.name)} (${listOf(columns)}) overriding system value
     select ${listOf(columns, 'stage')} ${ADDED(table)}`,
  )
  return rowCount
}

async function update(client: PgConnection, table: Ruled): Promise<number> {
  const values = valuesOf(table)
  if (values.length === 0) return 0
  const { rowCount } = await client.query(
    `update ${id(table.name)} live
     set ${values.map((column) => `${id(column)} = stage.${id(column)}`).join(', ')}
     from ${stageOf(table.name)} stage where ${matching(table)} and ${DIFFERS(values)}`,
  )
  return rowCount ?? 0
}

/** Ends all sessions and other access. @param tenantId the tenant whose access ends; null for all tenants */
export async function endAccess(
  client: PgConnection,
  rules: RestoreRules,
  tenantId: number | null,
): Promise<void> {
  const tables = Object.keys(rules).filter((name) => ENDING.some((rule) => rule === rules[name]))
  const { rows } = await client.query<{ name: string; isTenants: boolean }>(
    `select c.relname as name, exists (select from pg_attribute a where a.attrelid = c.oid
       and a.attname = 'tenant_id' and not a.attisdropped) as "isTenants"
     from pg_class c where c.relnamespace = 'public'::regnamespace and c.relname = any($1)`,
    [tables],
  )
  const whose = tenantId === null ? 'true' : `tenant_id = ${Number(tenantId)}`
  for (const { name, isTenants } of rows)
    if (tenantId === null || isTenants)
      await client.query(
        rules[name] === 'closed'
          ? `update ${id(name)} set ended_at = now(), end_reason = 'restored' where ended_at is null and ${whose}`
          : `delete from ${id(name)} where ${whose}`,
      )
}
