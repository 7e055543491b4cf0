/** Verifies that encrypted data can be decrypted, using every tenant's keys and a few sampled rows of each table. */
import {
  openStoredKeys,
  placeIn,
  type SealedTable,
  type Sealer,
  UnreadableError,
} from '../../../platform/crypto/index.ts'
import {
  type DatabaseAddress,
  ownerClient,
  type PgConnection,
  PLATFORM_ROLE,
} from '../../../platform/db/index.ts'
import { listSealingKeys, type SampledRow, someOfEach } from './verify-sealed.store.ts'

/** Runs `verifySealedRows` on a temporary database that has no other users. */
export async function verifyDatabase(
  address: DatabaseAddress,
  sealer: Sealer,
  sealed: readonly SealedTable[],
): Promise<void> {
  const client = ownerClient(address)
  await client.connect()
  try {
    await client.query(`begin read only; set local role ${PLATFORM_ROLE}`)
    await verifySealedRows(client, sealer, sealed)
  } finally {
    await client.end()
  }
}

/**
 * Verifies the keys and sampled rows that the connection can see.
 * @param client a connection whose role or tenant limits the visible rows
 * @throws UnreadableError if a key cannot be decrypted, or if no sampled row of a tenant's table can. One damaged row
 * is tolerated, because the damage may be older than the backup.
 */
export async function verifySealedRows(
  client: PgConnection,
  sealer: Sealer,
  sealed: readonly SealedTable[],
): Promise<void> {
  const stored = Map.groupBy(await listSealingKeys(client), ({ tenant_id }) => tenant_id)
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

/** Decrypts rows until one succeeds. @throws the last error if every row fails */
function openAny(rows: readonly SampledRow[], open: (row: SampledRow) => unknown): void {
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
