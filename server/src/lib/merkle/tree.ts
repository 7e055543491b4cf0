/**
 * Merkle trees over SHA-256 (RFC 6962 §2.1), with their nodes in tiles of 256 hashes (C2SP tlog-tiles). Numbers are safe
 * integers, so a tree has at most 2^53 leaves.
 */
import { hash } from 'node:crypto'

/** The length of a hash in bytes. */
export const HASH_BYTES = 32

/** The height of a tile: a full tile has 2^8 hashes, and its root is one hash of the level above. */
export const TILE_HEIGHT = 8

/** The number of hashes in a full tile. */
export const TILE_WIDTH = 2 ** TILE_HEIGHT

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer')

/** Returns the hash of a leaf from its content (RFC 6962 §2.1). A text is hashed as UTF-8. */
export const leafHash = (content: Uint8Array | string): Buffer =>
  typeof content === 'string'
    ? hash('sha256', `\0${content}`, 'buffer')
    : sha256(Buffer.concat([Buffer.of(0), content]))

/** The input of the hash of an inner node. Reused, because allocating it costs as much as the hash. */
const PAIR = Buffer.alloc(1 + 2 * HASH_BYTES, 1)

/** Returns the hash of an inner node (RFC 6962 §2.1). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  PAIR.set(left, 1)
  PAIR.set(right, 1 + HASH_BYTES)
  return sha256(PAIR)
}

/** The root of a tree without leaves. */
export const EMPTY_ROOT = sha256(Buffer.alloc(0))

/** The place of a tile: level 0 contains the hashes of the leaves, level n the roots of full tiles of level n - 1. */
export interface TilePlace {
  readonly level: number
  readonly index: number
}

/** Returns `n` without its lowest bits. Unlike `>>`, it accepts numbers above 2^32. */
const shifted = (n: number, bits: number): number => Math.floor(n / 2 ** bits)

/** Returns the largest power of two below `n`, which is at least 2. */
function largestPowerBelow(n: number): number {
  let power = 1
  while (power * 2 < n) power *= 2
  return power
}

/** The number of hashes on a level of tiles in a tree with `size` leaves. */
const hashesOnLevel = (size: number, level: number): number => shifted(size, TILE_HEIGHT * level)

/** Returns the number of hashes that a tile has in a tree with `size` leaves. It is 0 for a tile after the end. */
export const widthOf = ({ level, index }: TilePlace, size: number): number =>
  Math.max(0, Math.min(TILE_WIDTH, hashesOnLevel(size, level) - index * TILE_WIDTH))

const keyOf = ({ level, index }: TilePlace): string => `${level}/${index}`

/** Tiles in memory. A tile may contain more hashes than a smaller tree has; trees read only their own. */
export class Tiles {
  readonly #tiles = new Map<string, Buffer>()

  set(place: TilePlace, hashes: Buffer): void {
    this.#tiles.set(keyOf(place), hashes)
  }

  get(place: TilePlace): Buffer | undefined {
    return this.#tiles.get(keyOf(place))
  }

  /** Returns the hash of a perfect subtree with 2^`height` leaves. @throws Error if its tile is missing */
  node(height: number, index: number): Buffer {
    const level = Math.floor(height / TILE_HEIGHT)
    const within = height % TILE_HEIGHT
    const tile = shifted(index, TILE_HEIGHT - within)
    const first = index * 2 ** within - tile * TILE_WIDTH
    const hashes = this.get({ level, index: tile })
    const count = 2 ** within
    if (!hashes || hashes.length < (first + count) * HASH_BYTES)
      throw new Error(`tile ${level}/${tile} has no hash ${first + count - 1}`)
    return perfectRoot(hashes.subarray(first * HASH_BYTES, (first + count) * HASH_BYTES))
  }
}

/** Returns the root of a perfect tree from the hashes of one of its levels, one after the other. */
export function perfectRoot(hashes: Buffer): Buffer {
  let row = hashes
  while (row.length > HASH_BYTES) {
    const above = Buffer.allocUnsafe(row.length / 2)
    for (let at = 0; at < above.length; at += HASH_BYTES) {
      PAIR.set(row.subarray(2 * at, 2 * (at + HASH_BYTES)), 1)
      above.set(sha256(PAIR), at)
    }
    row = above
  }
  return row
}

/** Returns the hash of the leaves from `start` up to `end`, a subtree as RFC 6962 divides the tree. */
function rangeHash(tiles: Tiles, start: number, end: number): Buffer {
  const count = end - start
  if (count === 1) return tiles.node(0, start)
  const half = largestPowerBelow(count)
  if (half * 2 === count) return tiles.node(Math.log2(count), start / count)
  const middle = start + half
  return nodeHash(rangeHash(tiles, start, middle), rangeHash(tiles, middle, end))
}

/** Returns the root of the tree with the first `size` leaves. Needs the tiles of `tilesForRoot`. */
export const rootOf = (tiles: Tiles, size: number): Buffer =>
  size === 0 ? EMPTY_ROOT : rangeHash(tiles, 0, size)

/** Returns the hashes that prove that the tree contains a leaf (RFC 6962 §2.1.1). Needs the tiles of `tilesForProof`. */
export function inclusionProof(tiles: Tiles, index: number, size: number): Buffer[] {
  if (index < 0 || index >= size) throw new RangeError(`a tree of ${size} has no leaf ${index}`)
  return pathTo(tiles, index, 0, size)
}

function pathTo(tiles: Tiles, index: number, start: number, end: number): Buffer[] {
  if (end - start === 1) return []
  const middle = start + largestPowerBelow(end - start)
  return index < middle
    ? [...pathTo(tiles, index, start, middle), rangeHash(tiles, middle, end)]
    : [...pathTo(tiles, index, middle, end), rangeHash(tiles, start, middle)]
}

/**
 * Returns the hashes that prove that a tree extends the tree of its first `old` leaves (RFC 6962 §2.1.2). The proof is
 * empty if the sizes are equal, or if `old` is 0. Needs the tiles of `tilesForConsistency`.
 */
export function consistencyProof(tiles: Tiles, old: number, size: number): Buffer[] {
  if (old < 0 || old > size) throw new RangeError(`a tree of ${size} does not extend one of ${old}`)
  return old === 0 ? [] : subproof(tiles, old, 0, size)
}

/** Proves the leaves up to `old` within the subtree from `start` up to `end`. */
function subproof(tiles: Tiles, old: number, start: number, end: number): Buffer[] {
  // A verifier knows the root of the old tree, but not that of a subtree within it.
  if (old === end) return start === 0 ? [] : [rangeHash(tiles, start, end)]
  const middle = start + largestPowerBelow(end - start)
  return old <= middle
    ? [...subproof(tiles, old, start, middle), rangeHash(tiles, middle, end)]
    : [...subproof(tiles, old, middle, end), rangeHash(tiles, start, middle)]
}

/** Returns the places of the tiles that a consistency proof needs: those above the last old leaf, and the right edge. */
export const tilesForConsistency = (old: number, size: number): TilePlace[] =>
  old === 0 ? [] : tilesForProof(old - 1, size)

/** Returns the places of the tiles on the right edge of a tree, which determine its root. */
export function tilesForRoot(size: number): TilePlace[] {
  const places: TilePlace[] = []
  for (let level = 0; hashesOnLevel(size, level) > 0; level += 1)
    places.push({ level, index: shifted(hashesOnLevel(size, level) - 1, TILE_HEIGHT) })
  return places
}

/** Returns the places of the tiles that a proof about a leaf needs: those above the leaf, and the right edge. */
export function tilesForProof(index: number, size: number): TilePlace[] {
  const edge = tilesForRoot(size)
  const above = edge.flatMap(({ level }) => {
    const at = hashesOnLevel(index, level)
    return at < hashesOnLevel(size, level) ? [{ level, index: shifted(at, TILE_HEIGHT) }] : []
  })
  return [...new Map([...above, ...edge].map((place) => [keyOf(place), place])).values()]
}

/**
 * Appends the hashes of leaves to a tree. Returns the changed tiles.
 * @param tiles the tiles of `tilesForRoot(size)`, which the function extends
 */
export function appendLeaves(
  tiles: Tiles,
  size: number,
  leaves: readonly Uint8Array[],
): { place: TilePlace; hashes: Buffer }[] {
  const changed = new Map<string, TilePlace>()
  let level = 0
  let added: readonly Uint8Array[] = leaves
  while (added.length > 0) {
    const full: Buffer[] = []
    let at = hashesOnLevel(size, level)
    while (added.length > 0) {
      const place = { level, index: shifted(at, TILE_HEIGHT) }
      const free = TILE_WIDTH - (at % TILE_WIDTH)
      const before = at % TILE_WIDTH === 0 ? Buffer.alloc(0) : mustGet(tiles, place)
      const kept = before.subarray(0, (at % TILE_WIDTH) * HASH_BYTES)
      const hashes = Buffer.concat([kept, ...added.slice(0, free)])
      tiles.set(place, hashes)
      changed.set(keyOf(place), place)
      at += Math.min(free, added.length)
      added = added.slice(free)
      if (at % TILE_WIDTH === 0) full.push(perfectRoot(hashes))
    }
    added = full
    level += 1
  }
  return [...changed.values()].map((place) => ({ place, hashes: mustGet(tiles, place) }))
}

function mustGet(tiles: Tiles, place: TilePlace): Buffer {
  const hashes = tiles.get(place)
  if (!hashes) throw new Error(`tile ${keyOf(place)} is missing`)
  return hashes
}
