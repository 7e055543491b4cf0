/**
 * Re-encrypts a batch of rows in one transaction. A row that cannot be re-encrypted keeps its old key and is reported.
 * The other rows of the batch are re-encrypted.
 */
import { type Breathe, slices } from '../../lib/slices.ts'
import {
  type KeyRing,
  type OpenedRow,
  placeIn,
  type SealedTable,
  type TenantKeys,
  UnreadableError,
} from '../../platform/crypto/index.ts'
import { isPassing, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import * as store from './re-encryption.store.ts'
import * as rotations from './rotations.store.ts'

/** The maximum time for which a batch blocks the event loop without a pause. */
const SLICE_MS = 2

export interface Batch {
  table: SealedTable
  key: store.OldKey
  rotationId: string
  /** Called for each row that could not be re-encrypted. */
  onFailed(id: store.RowId, error: unknown): void
}

type SealedRows = readonly store.SealedRow[]

/** Describes the rows that a batch has locked. */
export interface Locked {
  /** The row after which the next batch starts; null if no rows remain. */
  last: store.Position
  rows: number
  bytes: number
}

/**
 * Re-encrypts up to `limit` rows that follow `after`. If the whole batch fails, retries it in halves, down to the
 * single row that causes the failure.
 * @param onLocked called when the rows are locked, so that the next batch can start with the rows after them
 * @throws transient errors, such as an unreachable database
 */
export async function reencrypt(
  deps: { db: Scopes; keyRing: KeyRing },
  batch: Batch,
  after: store.Position,
  limit: number,
  onLocked: (locked: Locked) => void = () => undefined,
): Promise<Locked> {
  let rows: SealedRows = []
  try {
    return await deps.db.acrossTenants(async (tx) => {
      rows = await store.lockRows(tx, batch.table, batch.key.id, after, limit)
      const locked = lockedOf(rows, limit)
      onLocked(locked)
      const keys = await deps.keyRing.forWriting(tx, batch.key.tenant_id)
      await write(tx, keys, batch, rows)
      return locked
    })
  } catch (error) {
    const [first] = rows
    if (!first || isPassing(error)) throw error
    if (limit === 1) {
      batch.onFailed(first.$id, error)
      return lockedOf(rows, limit)
    }
    const half = await reencrypt(deps, batch, after, limit >> 1)
    if (half.last === null) return half
    return reencrypt(deps, batch, half.last, limit - (limit >> 1))
  }
}

function lockedOf(rows: SealedRows, limit: number): Locked {
  const sizes = rows.flatMap((row) => Object.values(row)).map((value) => lengthOf(value))
  return {
    last: rows.length < limit ? null : (rows.at(-1)?.$id ?? null),
    rows: rows.length,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
  }
}

const lengthOf = (value: unknown) => (Buffer.isBuffer(value) ? value.length : 0)

async function write(tx: TenantTx, keys: TenantKeys, batch: Batch, rows: SealedRows) {
  const { table, rotationId } = batch
  const breathe = slices(SLICE_MS)
  const { opened, values } = await reseal(keys, batch, rows, breathe)
  if (opened.length === 0) return
  await table.tokens?.add(tx, keys, opened, breathe)
  const ids = opened.map(({ id }) => id)
  store.writeReencrypted(tx, table, ids, values)
  rotations.addDone(tx, rotationId, opened.length)
}

/** Re-encrypts rows with the current key. Returns the values by column, in the order of the `opened` rows. */
async function reseal(
  keys: TenantKeys,
  { table, onFailed }: Batch,
  rows: SealedRows,
  breathe: Breathe,
) {
  const opened: OpenedRow[] = []
  const values: (Buffer | null)[][] = table.columns.map(() => [])
  for (const found of rows) {
    try {
      const row = resealRow(table, keys, found)
      row.sealed.forEach((value, index) => void values[index]?.push(value))
      opened.push(row.opened)
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      onFailed(found.$id, error)
    }
    await breathe()
  }
  return { opened, values }
}

/** Decrypts and encrypts the values of one row. @throws UnreadableError if a value cannot be decrypted */
function resealRow(
  table: SealedTable,
  keys: TenantKeys,
  found: store.SealedRow,
): { opened: OpenedRow; sealed: (Buffer | null)[] } {
  const place = (column: string) => placeIn(table, column, found.$row)
  const values = Object.fromEntries(
    table.columns.map((column) => {
      const sealed = found[column] as Buffer | null
      return [column, sealed && keys.open(sealed, place(column))]
    }),
  )
  const sealed = table.columns.map((column) => {
    const value = values[column]
    return value ? keys.seal(value, place(column)) : null
  })
  return { opened: { id: found.$id, tenantId: keys.tenantId, values }, sealed }
}
