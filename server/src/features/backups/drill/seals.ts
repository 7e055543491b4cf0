/** Proves that what is sealed opens: every key of every clinic, and one row of each of its tables. */
import {
  openKeyRing,
  placeIn,
  type SealedTable,
  type Sealer,
} from '../../../platform/crypto/index.ts'
import { type DatabaseAddress, openScopes, watchChanges } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import * as store from './seals.store.ts'

/** @throws Error where something does not open */
export async function proveSeals(
  address: DatabaseAddress,
  sealer: Sealer,
  sealed: readonly SealedTable[],
  log: Logger,
): Promise<void> {
  const changes = watchChanges(address, log)
  const db = openScopes(address, { size: 1, changes, log })
  try {
    const keyRing = await openKeyRing(db, sealer, changes)
    await db.acrossTenants(async (tx) => {
      for (const id of await store.listTenants(tx)) await keyRing.ofTenant(tx, id)
      for (const table of sealed) {
        const [column = ''] = table.columns
        for (const row of await store.oneOfEach(tx, table, column)) {
          const keys = await keyRing.ofTenant(tx, row.tenant_id)
          keys.open(row.sealed, placeIn(table, column, row.name))
        }
      }
    }, 'read')
  } finally {
    await changes.stop()
    await db.close()
  }
}
