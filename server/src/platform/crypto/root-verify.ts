/** Opens what the root key seals, to find what does not open. */
import type { Scopes } from '../db/index.ts'
import * as store from './root-keys.store.ts'
import { type RootSealed, rootPlace } from './root-sealed.ts'
import { type Sealer, UnreadableError } from './seal.ts'

const BATCH = 500

/** What came of opening all that is sealed in a table. */
export interface Verified {
  readonly table: string
  readonly rows: number
  readonly values: number
  /** Values that do not open. */
  readonly failed: number
  /** Names what does not open: never what it says. */
  readonly unreadable: readonly string[]
}

/** @param onBatch told how many rows have been looked at */
export async function verifyRootSealed(
  db: Scopes,
  sealer: Sealer,
  sealed: RootSealed,
  onBatch: (rows: number) => void,
): Promise<Verified> {
  const { table } = sealed
  const unreadable: string[] = []
  let count = 0
  for (let after: store.After = null; ; ) {
    const from: store.After = after
    const rows: store.RootSealedRow[] = await db.acrossTenants(
      (tx) => store.listSealed(tx, sealed, from, BATCH),
      'read',
    )
    for (const row of rows) {
      try {
        sealer.open(row.sealed, rootPlace(sealed, row.row))
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error
        unreadable.push(error.message)
      }
    }
    count += rows.length
    onBatch(count)
    if (rows.length < BATCH)
      return { table, rows: count, values: count, failed: unreadable.length, unreadable }
    after = rows.at(-1)?.id ?? null
  }
}
