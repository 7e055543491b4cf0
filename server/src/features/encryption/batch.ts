/**
 * Seals some rows anew, in one transaction. A row that cannot be keeps its key and is named: the others of
 * its batch are sealed all the same.
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
import * as rotations from './rotations.store.ts'
import * as store from './sweep.store.ts'

/** The event loop is held for no longer. */
const SLICE_MS = 2

export interface Batch {
  table: SealedTable
  key: store.OldKey
  rotationId: string
  /** Tells of a row that keeps its key. */
  onFailed(id: store.RowId, error: unknown): void
}

type SealedRows = readonly store.SealedRow[]

/** The rows that a batch has locked. */
export interface Locked {
  /** Where to go on; null where there is no more. */
  last: store.Position
  rows: number
  bytes: number
}

/**
 * Seals the next rows behind `after` anew. What fails as a whole is tried again by halves, down to the row
 * that fails by itself.
 * @param onLocked called once the rows are locked: the next batch may begin behind them
 * @throws what passes by itself, such as a database that is away
 */
export async function sealAnew(
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
    const half = await sealAnew(deps, batch, after, limit >> 1)
    if (half.last === null) return half
    return sealAnew(deps, batch, half.last, limit - (limit >> 1))
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
  store.writeSealed(tx, table, ids, values)
  rotations.addDone(tx, rotationId, opened.length)
}

/** Opens the rows and seals them anew: values by column, in the order of the opened rows. */
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

/** @throws UnreadableError when one of its values does not open */
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
