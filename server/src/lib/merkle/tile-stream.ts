/** Builds the tiles of a tree from a stream of its leaves. Keeps only the right edge in memory. */
import type { SizedTile } from './tile-paths.ts'
import { appendLeaves, HASH_BYTES, TILE_WIDTH, Tiles, tilesForRoot } from './tree.ts'

export interface BuiltTile extends SizedTile {
  readonly hashes: Buffer
}

export interface TileStream {
  /** Appends the hashes of leaves. Returns the tiles that became full. */
  append(leaves: readonly Uint8Array[]): BuiltTile[]
  /** Returns the partial tiles of the right edge. */
  partial(): BuiltTile[]
}

export function openTileStream(): TileStream {
  let edge = new Tiles()
  let size = 0
  const built = (place: { level: number; index: number }, hashes: Buffer): BuiltTile => ({
    ...place,
    width: hashes.length / HASH_BYTES,
    hashes,
  })
  const isFull = ({ width }: BuiltTile) => width === TILE_WIDTH
  const edgeTiles = () =>
    tilesForRoot(size).map((place) => built(place, edge.get(place) ?? Buffer.alloc(0)))

  return {
    append(leaves) {
      const changed = appendLeaves(edge, size, leaves)
      size += leaves.length
      const kept = new Tiles()
      for (const place of tilesForRoot(size)) {
        const hashes = edge.get(place)
        if (hashes) kept.set(place, hashes)
      }
      edge = kept
      return changed.map(({ place, hashes }) => built(place, hashes)).filter(isFull)
    },
    partial: () => edgeTiles().filter((tile) => !isFull(tile)),
  }
}
