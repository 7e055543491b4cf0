/**
 * Computes the folded name of rows that have none, because a node of an earlier release wrote them. Each batch is a
 * transaction, so a later run continues where an interrupted run stopped.
 */
import { sql } from 'kysely'
import { MINUTE } from '../../lib/clock.ts'
import { nameKey } from '../../lib/fold.ts'
import type { Scopes } from '../db/scope.ts'
import type { TenantTx } from '../db/transaction.ts'
import type { Upkeep } from '../lifecycle/upkeep.ts'

const BATCH = 1000
/** The maximum number of batches per run. It limits how long startup waits. */
const MAX_BATCHES = 50

interface Named {
  id: number
  tenant_id: number
  name: string
}

/**
 * Returns the upkeep task that folds the names of a table.
 * @param table a table with the columns `name_key` and `is_folded`
 * @param column the column that contains the name
 * @param save writes the folded names (`key`) of rows that the transaction has locked
 */
export function foldsNames(
  db: Scopes,
  { table, column }: { table: string; column: string },
  save: (tx: TenantTx, rows: readonly (Named & { key: string })[]) => Promise<unknown>,
): Upkeep {
  const foldSome = (tx: TenantTx) =>
    sql<Named>`select id, tenant_id, ${sql.ref(column)} as name from ${sql.table(table)}
      where not is_folded order by id limit ${BATCH} for no key update skip locked`
      .execute(tx.db)
      .then(async ({ rows }) => {
        if (rows.length > 0)
          await save(
            tx,
            rows.map((row) => ({ ...row, key: nameKey(row.name) })),
          )
        return rows.length
      })
  return {
    what: `normalization of names in ${table}`,
    everyMs: MINUTE,
    isNeededToServe: false,
    async run() {
      for (let batch = 0; batch < MAX_BATCHES; batch += 1)
        if ((await db.acrossTenants(foldSome)) < BATCH) return
    },
  }
}
