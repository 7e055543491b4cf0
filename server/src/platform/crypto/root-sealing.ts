/** Re-encrypts and verifies values that root keys encrypt, and destroys root keys that are no longer needed. */
import { lockUntilEnd, type Scopes, type TenantTx } from '../db/index.ts'
import * as store from './root-keys.store.ts'
import { type RootSealed, rootPlace } from './root-sealed.ts'
import { orUnreadable, type SealedPlace, type Sealer, UnreadableError } from './seal.ts'

const BATCH = 500

/** Yields batches of rows from `read` until a batch is not full. The last batch may be empty. */
async function* batchesOf(read: (after: store.After) => Promise<store.RootSealedRow[]>) {
  for (let after: store.After = null; ; ) {
    const rows = await read(after)
    yield rows
    if (rows.length < BATCH) return
    after = rows.at(-1)?.id ?? null
  }
}

/** Decrypts a column of the given rows. Returns the values, and a message for each value that cannot be decrypted. */
function openRows(sealer: Sealer, column: RootSealed, rows: readonly store.RootSealedRow[]) {
  const opened: { id: store.RootSealedRow['id']; place: SealedPlace; value: Buffer }[] = []
  const unreadable: string[] = []
  for (const { id, row, sealed } of rows) {
    const place = rootPlace(column, row)
    const value = orUnreadable(() => sealer.open(sealed, place))
    if (value instanceof UnreadableError) unreadable.push(value.message)
    else opened.push({ id, place, value })
  }
  return { opened, unreadable }
}

/**
 * Re-encrypts a column. Returns the count, and messages about unreadable values. @param by selects values of these keys
 */
export async function resealWithRoot(
  tx: TenantTx,
  column: RootSealed,
  { from, to, by }: { from: Sealer; to: Sealer; by?: readonly string[] },
): Promise<{ count: number; left: string[] }> {
  const left: string[] = []
  let count = 0
  const read = (after: store.After) => store.listSealed(tx, column, after, BATCH, { by })
  for await (const rows of batchesOf(read)) {
    const { opened, unreadable } = openRows(from, column, rows)
    left.push(...unreadable)
    count += opened.length
    const sealed = opened.map(({ id, place, value }) => ({ id, sealed: to.seal(value, place) }))
    if (sealed.length > 0) await store.writeRootSealed(tx, column, sealed)
  }
  return { count, left }
}

export interface Verified {
  readonly table: string
  readonly rows: number
  readonly values: number
  readonly failed: number
  /** Messages that name the location of each unreadable value, without its content. */
  readonly unreadable: readonly string[]
}

/** Decrypts a column to verify it, in one transaction per batch. @param onBatch receives the number of rows so far */
export async function verifyRootSealed(
  db: Scopes,
  sealer: Sealer,
  column: RootSealed,
  onBatch: (rows: number) => void,
): Promise<Verified> {
  const unreadable: string[] = []
  let count = 0
  const read = (after: store.After) =>
    db.acrossTenants((tx) => store.listSealed(tx, column, after, BATCH), 'read')
  for await (const rows of batchesOf(read)) {
    unreadable.push(...openRows(sealer, column, rows).unreadable)
    count += rows.length
    onBatch(count)
  }
  const { table } = column
  return { table, rows: count, values: count, failed: unreadable.length, unreadable }
}

/**
 * Destroys root keys replaced up to `before` (null for all). First re-encrypts values that a restore has brought back.
 * Returns the fingerprints of the destroyed keys.
 */
export async function destroyFormerRoots(
  tx: TenantTx,
  { sealer, sealed, before }: DestroyedRoots,
): Promise<string[]> {
  await lockUntilEnd(tx, 'rootKey')
  const by = await store.listFormerBefore(tx, before)
  if (by.length === 0) return []
  for (const column of sealed) await resealWithRoot(tx, column, { from: sealer, to: sealer, by })
  await store.destroyFormer(tx, by)
  return by
}

export interface DestroyedRoots {
  sealer: Sealer
  sealed: readonly RootSealed[]
  /** The latest replacement time of keys to destroy (ISO 8601), or null for all. */
  before: string | null
}
