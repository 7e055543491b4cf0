/**
 * The SQL of accounts that a restore leaves as they are, role and sign-in, also where the backup does not know them.
 * They are put on the stage, before that is applied.
 */
import type { Connection } from '../../../platform/db/index.ts'
import type { RestoreColumns } from '../../../platform/restore-columns.ts'
import { leaveUnknownDepartments } from '../../users/index.ts'
import { id, type Staged, stageOf } from './stage.store.ts'

/** Keeps these accounts, in the tables of the scope. */
export async function keepAccounts(
  client: Connection,
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
  await bringAlong(client, kept, tables, 'users', 'id')
  // Their department may be younger too.
  await leaveUnknownDepartments(client, kept)
}

/** Keeps the rows that these accounts own, where those of the backup come back. */
export async function keepOwned(
  client: Connection,
  kept: readonly number[],
  tables: readonly Staged[],
  columns: RestoreColumns,
): Promise<void> {
  for (const { name } of tables) {
    const owner = columns[name]?.owner
    if (owner?.table !== 'users') continue
    await client.query(`delete from ${stageOf(name)} where ${id(owner.column)} = any($1)`, [kept])
    await bringAlong(client, kept, tables, name, owner.column)
  }
}

/** Puts the rows that are there today on the stage, where it has none of them. */
async function bringAlong(
  client: Connection,
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
