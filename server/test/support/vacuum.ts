/** Tables as they are once nothing else is at work, for what a planner makes of them. */
import type { TestDatabase } from './database.ts'
import { until } from './until.ts'

/**
 * Vacuums and analyzes a table, with its partitions, until all of it is visible to all. One vacuum is not enough where
 * a transaction of another file, on the same server, is older than the rows.
 */
export function vacuum({ sql }: Pick<TestDatabase, 'sql'>, table: string): Promise<unknown> {
  return until(
    `all of ${table} is visible`,
    async () => {
      await sql(`vacuum analyze ${table}`)
      const [row] = await sql<{ is_visible: boolean }>(
        `select bool_and(relallvisible = relpages) as is_visible from pg_class
         where relkind = 'r'
           and (oid = $1::regclass or oid in (select relid from pg_partition_tree($1::regclass)))`,
        [table],
      )
      return row?.is_visible || undefined
    },
    60_000,
  )
}
