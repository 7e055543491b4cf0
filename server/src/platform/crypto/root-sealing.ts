/** Seals anew what root keys have sealed, and destroys those that nothing needs any more. */
import { lockUntilEnd, type TenantTx } from '../db/index.ts'
import * as store from './root-keys.store.ts'
import { type RootSealed, rootPlace } from './root-sealed.ts'
import { type Sealer, UnreadableError } from './seal.ts'

const BATCH = 500

/**
 * Seals a column anew. Returns how many values, and what does not open and so is left as it is.
 * @param by only what names one of these root keys
 */
export async function sealAnew(
  tx: TenantTx,
  column: RootSealed,
  { from, to, by }: { from: Sealer; to: Sealer; by?: readonly string[] },
): Promise<{ count: number; left: string[] }> {
  const left: string[] = []
  let count = 0
  for await (const rows of store.batches(tx, column, BATCH, by)) {
    const anew = rows.flatMap((row) => {
      const place = rootPlace(column, row.row)
      try {
        return [{ id: row.id, sealed: to.seal(from.open(row.sealed, place), place) }]
      } catch (error) {
        if (!(error instanceof UnreadableError)) throw error
        left.push(error.message)
        return []
      }
    })
    await store.writeSealed(tx, column, anew)
    count += anew.length
  }
  return { count, left }
}

/**
 * Destroys the former root keys that were replaced before the instant. What a restore has brought back
 * under one of them is sealed anew before. Returns their fingerprints.
 * @param before null for all of them
 */
export async function destroyFormerRoots(
  tx: TenantTx,
  { sealer, sealed, before }: DestroyedRoots,
): Promise<string[]> {
  await lockUntilEnd(tx, 'rootKey')
  const by = await store.listFormerBefore(tx, before)
  if (by.length === 0) return []
  for (const column of sealed) await sealAnew(tx, column, { from: sealer, to: sealer, by })
  await store.destroyFormer(tx, by)
  return by
}

export interface DestroyedRoots {
  sealer: Sealer
  sealed: readonly RootSealed[]
  /** ISO 8601. */
  before: string | null
}
