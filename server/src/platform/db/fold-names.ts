/**
 * Folds the names that this release has not folded yet: rows of earlier releases, and of nodes that still run one. Each
 * batch is a transaction, so the work goes on where it ended.
 */
import { sql } from 'kysely'
import { MINUTE } from '../../lib/clock.ts'
import { nameKey } from '../../lib/fold.ts'
import type { Upkeep } from '../upkeep.ts'
import type { Scopes } from './scope.ts'
import type { TenantTx } from './transaction.ts'

const BATCH = 1000
/** Batches of one run: a start does not wait for more. */
const MAX_BATCHES = 50

interface Named {
  id: number
  tenant_id: number
  name: string
}

/**
 * @param table with the columns `name_key` and `is_folded`
 * @param column of the name
 * @param save writes the keys of rows that are locked
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
    what: `folding names of ${table}`,
    everyMs: MINUTE,
    isNeededToServe: false,
    async run() {
      for (let batch = 0; batch < MAX_BATCHES; batch += 1)
        if ((await db.acrossTenants(foldSome)) < BATCH) return
    },
  }
}
