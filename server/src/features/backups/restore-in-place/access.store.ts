/**
 * The SQL of the rule that a restore brings data back and never access: on the stage, before it is
 * applied, the stricter of then and now wins. What was changed for it is reported.
 */
import type { Connection } from '../../../platform/db/index.ts'
import type { ColumnRules, RestoreColumns } from '../../../platform/restore-columns.ts'
import type { AccessCase } from './outcome.ts'
import { id, matching, type Staged, stageOf } from './stage.store.ts'

/** A case with the tenant whose it is. */
export type TenantCase = AccessCase & { tenant_id: number }

type Declared = readonly [table: Staged, rules: ColumnRules]

/** The tables with their declarations. */
const declared = (tables: readonly Staged[], columns: RestoreColumns): Declared[] =>
  tables.map((table) => [table, columns[table.name] as ColumnRules])

/** Narrows what the stage would give back. Returns the cases to report. */
export async function narrowAccess(
  client: Connection,
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
  client: Connection,
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

/** Sets columns of the rows that are there today, and meet the condition. */
async function updateStage(
  client: Connection,
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
 * Has the days in which a deletion can be undone begin again where the restore is what deletes: those of the backup
 * may be over, and the next night would destroy what was restored since.
 */
export async function beginGraceAgain(
  client: Connection,
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

/** With the access of the backup: values that were spent since stay so. */
export async function keepSpent(
  client: Connection,
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

/** Takes what is merged, and not restored, off the stage where its owner is still there. */
export async function keepTodays(
  client: Connection,
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
  client: Connection,
  table: Staged,
  { reported = {}, access = {} }: ColumnRules,
): Promise<TenantCase[]> {
  const isLocked = Object.values(access).some(({ deleted }) => deleted !== undefined)
  const found = [
    ...(isLocked ? [`case when live.id is null then 'deleted' end`] : []),
    ...Object.entries(reported).map(
      ([name, condition]) => `case when live.id is not null and (${condition}) then '${name}' end`,
    ),
  ]
  const { rows } = await client.query<{ id: string; tenant_id: string; fields: string[] }>(
    `select stage.id, stage.${id(table.tenant ?? 'id')} as tenant_id,
       array_remove(array[${found.join(', ')}], null) as fields
     from ${stageOf(table.name)} stage left join ${id(table.name)} live on ${matching(table)}
     order by stage.id`,
  )
  return rows
    .filter(({ fields: kept }) => kept.length > 0)
    .map(({ id: record, tenant_id, fields: kept }) => ({
      tenant_id: Number(tenant_id),
      table: table.name,
      id: Number(record),
      fields: kept,
    }))
}
