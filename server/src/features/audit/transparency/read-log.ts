/** Reads a sealed log from the database in blocks. Keeps one page of entries in memory. */
import { HASH_BYTES, TILE_WIDTH } from '../../../lib/merkle/tree.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { blockEnd } from '../offline/index.ts'
import type { LogRow } from './logs.store.ts'
import { type LeafRow, readLeaves, readTiles } from './read-log.store.ts'

/** Consecutive leaves of a log, at most those of one tile. */
export interface StoredBlock {
  first: number
  end: number
  /** The hashes that the stored tile has for the leaves. Empty if the tile is missing or too short. */
  hashes: Buffer
  rows: LeafRow[]
}

/** The number of tiles in a page, so that few statements read a long log. */
const TILES_PER_PAGE = 4

/** Yields the blocks of a part of a log. */
export async function* readBlocks(
  tx: TenantTx,
  log: Pick<LogRow, 'tenant_id' | 'epoch'>,
  first: number,
  end: number,
): AsyncGenerator<StoredBlock> {
  for (let start = first; start < end; ) {
    const tile = Math.floor(start / TILE_WIDTH)
    const pageEnd = Math.min(end, (tile + TILES_PER_PAGE) * TILE_WIDTH)
    const [rows, tiles] = await Promise.all([
      readLeaves(tx, log, start, pageEnd),
      readTiles(tx, log, { level: 0, index: tile }, TILES_PER_PAGE),
    ])
    const byTile = Map.groupBy(rows, ({ index }) => Math.floor(index / TILE_WIDTH))
    while (start < pageEnd) {
      const at = Math.floor(start / TILE_WIDTH)
      const stop = blockEnd(start, pageEnd)
      yield {
        first: start,
        end: stop,
        rows: byTile.get(at) ?? [],
        hashes: hashesOf(tiles, start, stop),
      }
      start = stop
    }
  }
}

function hashesOf(tiles: Map<number, Buffer>, first: number, end: number): Buffer {
  const tile = Math.floor(first / TILE_WIDTH)
  const [from, to] = [first, end].map((index) => (index - tile * TILE_WIDTH) * HASH_BYTES)
  const hashes = tiles.get(tile)?.subarray(from, to) ?? Buffer.alloc(0)
  return hashes.length === (end - first) * HASH_BYTES ? hashes : Buffer.alloc(0)
}
