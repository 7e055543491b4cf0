/** Proves that what is sealed opens: every key of every clinic, and of each of its tables a row. */
import {
  openStoredKeys,
  placeIn,
  type SealedTable,
  type Sealer,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import {
  type Connection,
  type DatabaseAddress,
  ownerClient,
  PLATFORM_ROLE,
} from '../../../platform/db/index.ts'
import { listKeys, type SealedRow, someOfEach } from './seals.store.ts'

/** As `proveSeals`, of a database that nobody is at work on. */
export async function proveDatabase(
  address: DatabaseAddress,
  sealer: Sealer,
  sealed: readonly SealedTable[],
): Promise<void> {
  const client = ownerClient(address)
  await client.connect()
  try {
    await client.query(`begin read only; set local role ${PLATFORM_ROLE}`)
    await proveSeals(client, sealer, sealed)
  } finally {
    await client.end()
  }
}

/**
 * @param client in a scope: what that sees is proven
 * @throws UnreadableError for a key that does not open, or where of a clinic's table no row does: one
 *   that was broken before is no fault of the keys
 */
export async function proveSeals(
  client: Connection,
  sealer: Sealer,
  sealed: readonly SealedTable[],
): Promise<void> {
  const stored = Map.groupBy(await listKeys(client), ({ tenant_id }) => tenant_id)
  const keysOf = (tenant: number) =>
    openStoredKeys(sealer, tenant, stored.get(tenant) ?? [], () => undefined)
  const keys = new Map([...stored.keys()].map((tenant) => [tenant, keysOf(tenant)]))
  for (const table of sealed) {
    const [column = ''] = table.columns
    const found = Map.groupBy(await someOfEach(client, table, column), (row) => row.tenant_id)
    for (const [tenant, rows] of found)
      openAny(rows, ({ sealed, name }) =>
        (keys.get(tenant) ?? keysOf(tenant)).open(sealed, placeIn(table, column, name)),
      )
  }
}

/** @throws what the last fails with, where each one fails */
function openAny(rows: readonly SealedRow[], open: (row: SealedRow) => unknown): void {
  let failure: unknown
  for (const row of rows)
    try {
      open(row)
      return
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      failure = error
    }
  throw failure
}
