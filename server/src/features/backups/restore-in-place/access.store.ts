/**
 * The SQL that restricts the access in the staged rows before they are applied. It follows the column rules of the
 * features. By default a restore brings back data, but not access that was revoked since the backup. The result reports
 * rows that keep their current access.
 */
import type { PgConnection } from '../../../platform/db/index.ts'
import type { ColumnRules, RestoreColumns } from '../../../platform/feature/restore-columns.ts'
import { leaveUnknownDepartments } from '../../users/index.ts'
import type { AccessCase } from './outcome.ts'
import { id, matching, type Staged, stageOf } from './stage.store.ts'

/** A record that keeps its current access, with its tenant and its name. */
export type TenantCase = AccessCase & { tenant_id: number; name: string | null }

interface CaseRow {
  id: string
  tenant_id: string
  name: string | null
  fields: string[]
}

type Declared = readonly [table: Staged, rules: ColumnRules]

/** Pairs each staged table with its column rules. */
const declared = (tables: readonly Staged[], columns: RestoreColumns): Declared[] =>
  tables.map((table) => [table, columns[table.name] as ColumnRules])

/** Removes from the staged rows any access that was revoked after the backup. Returns the affected records. */
export async function narrowAccess(
  client: PgConnection,
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<TenantCase[]> {
  const cases: TenantCase[] = []
  for (const [table, rules] of declared(tables, columns)) {
    if (rules.reported) cases.push(...(await casesOf(client, table, rules)))
    await narrowColumns(client, table, rules)
  }
  return cases
}

async function narrowColumns(
  client: PgConnection,
  table: Staged,
  { access = {} }: ColumnRules,
): Promise<void> {
  const rules = Object.entries(access)
  const merged = rules.map(([column, rule]) => `${id(column)} = ${rule.merged}`)
  const deleted = rules.flatMap(([column, rule]) =>
    rule.deleted === undefined ? [] : [`${id(column)} = ${rule.deleted}`],
  )
  await updateStage(client, table, merged)
  if (deleted.length > 0)
    await client.query(`
      update ${stageOf(table.name)} stage set ${deleted.join(', ')}
      where not exists (select from ${id(table.name)} live where ${matching(table)})`)
}

/** Updates the staged rows that meet the condition and whose live row still exists. */
async function updateStage(
  client: PgConnection,
  table: Staged,
  assignments: readonly string[],
  condition = 'true',
): Promise<void> {
  if (assignments.length > 0)
    await client.query(`
      update ${stageOf(table.name)} stage set ${assignments.join(', ')}
      from ${id(table.name)} live where ${matching(table)} and ${condition}`)
}

/**
 * Restarts the grace period of rows that are marked as deleted in the backup. Some of these rows were live until this
 * restore. If their grace period in the backup has already ended, the next purge would destroy them.
 */
export async function restartGracePeriods(
  client: PgConnection,
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<void> {
  for (const [table, { deletedAt }] of declared(tables, columns))
    if (deletedAt)
      await updateStage(
        client,
        table,
        [`${id(deletedAt)} = coalesce(live.${id(deletedAt)}, now())`],
        `stage.${id(deletedAt)} is not null`,
      )
}

/** When the backup's access is restored, keeps values that were used up after the backup, such as recovery codes. */
export async function keepSpent(
  client: PgConnection,
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<void> {
  for (const [table, { spent = {} }] of declared(tables, columns))
    await updateStage(
      client,
      table,
      Object.entries(spent).map(([column, value]) => `${id(column)} = ${value}`),
    )
}

/** Removes staged secrets whose owner still exists, so that the owner's current secrets stay. */
export async function keepCurrentSecrets(
  client: PgConnection,
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<void> {
  for (const [{ name }, { owner }] of declared(tables, columns))
    if (owner)
      await client.query(`
        delete from ${stageOf(name)} stage using ${id(owner.table)} live
        where live.id = stage.${id(owner.column)}`)
}

async function casesOf(
  client: PgConnection,
  table: Staged,
  { reported = {}, access = {}, label }: ColumnRules,
): Promise<TenantCase[]> {
  const isLocked = Object.values(access).some(({ deleted }) => deleted !== undefined)
  const found = [
    ...(isLocked ? [`case when live.id is null then 'deleted' end`] : []),
    ...Object.entries(reported).map(
      ([name, condition]) => `case when live.id is not null and (${condition}) then '${name}' end`,
    ),
  ]
  const name = label === undefined ? 'null' : `stage.${id(label)}`
  const { rows } = await client.query<CaseRow>(
    `select stage.id, stage.${id(table.tenant ?? 'id')} as tenant_id, ${name} as name,
       array_remove(array[${found.join(', ')}], null) as fields
     from ${stageOf(table.name)} stage left join ${id(table.name)} live on ${matching(table)}
     order by stage.id`,
  )
  return rows
    .filter(({ fields: kept }) => kept.length > 0)
    .map(({ id: record, tenant_id, name: named, fields: kept }) => ({
      tenant_id: Number(tenant_id),
      name: named,
      table: table.name,
      id: Number(record),
      fields: kept,
    }))
}

/** Keeps the current role and sign-in data of the given accounts. Adds accounts that the backup does not contain. */
export async function keepAccounts(
  client: PgConnection,
  kept: readonly number[],
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<void> {
  const own = Object.keys(columns.users?.access ?? {}).map(id)
  await client.query(
    `update stage_users stage set ${own.map((column) => `${column} = live.${column}`).join(', ')}
     from users live where live.id = stage.id and live.id = any($1)`,
    [kept],
  )
  await stageCurrentRows(client, kept, tables, 'users', 'id')
  // Clears references to departments that the backup does not contain.
  await leaveUnknownDepartments(client, kept)
}

/** Keeps the current secrets of the given accounts when other secrets are restored from the backup. */
export async function keepSecretsOf(
  client: PgConnection,
  kept: readonly number[],
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<void> {
  for (const { name } of tables) {
    const owner = columns[name]?.owner
    if (owner?.table !== 'users') continue
    await client.query(`delete from ${stageOf(name)} where ${id(owner.column)} = any($1)`, [kept])
    await stageCurrentRows(client, kept, tables, name, owner.column)
  }
}

/** Adds the current rows of the given accounts to the stage if the stage lacks them. */
async function stageCurrentRows(
  client: PgConnection,
  kept: readonly number[],
  tables: readonly Staged[],
  name: string,
  user: string,
): Promise<void> {
  const columns = tables
    .find((table) => table.name === name)
    ?.columns.map(id)
    .join(', ')
  if (columns)
    await client.query(
      `insert into ${stageOf(name)} (${columns}) select ${columns} from ${id(name)}
       where ${id(user)} = any($1) and tenant_id in (select id from stage_tenants)
       on conflict do nothing`,
      [kept],
    )
}
