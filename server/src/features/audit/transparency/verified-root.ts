/** The root of a log, checked against the last head that was signed or anchored. */
import { HASH_BYTES, rootOf, Tiles, tilesForRoot, widthOf } from '../../../lib/merkle/tree.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import * as store from './logs.store.ts'

/** Returns the root of a locked log, or undefined if the log does not extend its last head. */
export async function verifiedRoot(tx: TenantTx, row: store.LogRow): Promise<Buffer | undefined> {
  const { tenant_id, epoch, size, head_size, head_root } = row
  if (size < head_size) return undefined
  const places = [...tilesForRoot(head_size), ...tilesForRoot(size)]
  const wanted = places.map((place) => ({ tenant_id, epoch, ...place }))
  const tiles = (await store.loadTiles(tx, wanted)).get(tenant_id) ?? new Tiles()
  if (head_root && !storedRoot(tiles, head_size)?.equals(head_root)) return undefined
  return storedRoot(tiles, size)
}

/** Returns the root of the first `size` leaves, or undefined if a tile is missing or too short. */
export function storedRoot(tiles: Tiles, size: number): Buffer | undefined {
  const isComplete = tilesForRoot(size).every(
    (place) => (tiles.get(place)?.length ?? 0) >= widthOf(place, size) * HASH_BYTES,
  )
  return isComplete ? rootOf(tiles, size) : undefined
}
