/** Folds the right edge of a Merkle tree (RFC 6962 §2.1), so that the root of a stream of leaves takes little memory. */
import {
  EMPTY_ROOT,
  HASH_BYTES,
  nodeHash,
  perfectRoot,
  TILE_HEIGHT,
  TILE_WIDTH,
  type TilePlace,
} from './tree.ts'

/** A perfect subtree with 2^`height` leaves, the `index`-th one of its height. */
export interface Subtree {
  readonly height: number
  readonly index: number
}

/** Returns the largest perfect subtrees that together have exactly the leaves from `start` up to `end`. */
export function subtreesOf(start: number, end: number): Subtree[] {
  const subtrees: Subtree[] = []
  for (let at = start; at < end; ) {
    let height = 0
    while (at % 2 ** (height + 1) === 0 && at + 2 ** (height + 1) <= end) height += 1
    subtrees.push({ height, index: at / 2 ** height })
    at += 2 ** height
  }
  return subtrees
}

/** Returns the places of the tiles that have the hashes of subtrees. */
export const tilesForSubtrees = (subtrees: readonly Subtree[]): TilePlace[] =>
  subtrees.map(({ height, index }) => ({
    level: Math.floor(height / TILE_HEIGHT),
    index: Math.floor((index * 2 ** (height % TILE_HEIGHT)) / TILE_WIDTH),
  }))

/** The leaves of a tree up to a size, as the hashes of its largest perfect subtrees. */
export class CompactRange {
  readonly #nodes: { height: number; hash: Buffer }[] = []
  #size = 0

  /** Returns the range of the first `size` leaves from the hashes of `subtreesOf(0, size)`. */
  static of(size: number, hashes: readonly Buffer[]): CompactRange {
    const range = new CompactRange()
    range.#appendSubtrees(subtreesOf(0, size), hashes)
    return range
  }

  get size(): number {
    return this.#size
  }

  /** Appends the hash of the next perfect subtree, by default of a leaf. Its place must be a multiple of its width. */
  append(hash: Buffer, height = 0): void {
    if (this.#size % 2 ** height !== 0) throw new RangeError('the subtree has another place')
    this.#size += 2 ** height
    let node = { height, hash }
    for (let last = this.#nodes.at(-1); last?.height === node.height; last = this.#nodes.at(-1)) {
      this.#nodes.pop()
      node = { height: node.height + 1, hash: nodeHash(last.hash, node.hash) }
    }
    this.#nodes.push(node)
  }

  /** Appends the hashes of leaves, a whole tile at once where possible. */
  appendLeaves(hashes: Buffer): void {
    const tileBytes = TILE_WIDTH * HASH_BYTES
    for (let at = 0; at < hashes.length; ) {
      const isTile = this.#size % TILE_WIDTH === 0 && hashes.length - at >= tileBytes
      const part = hashes.subarray(at, at + (isTile ? tileBytes : HASH_BYTES))
      if (isTile) this.append(perfectRoot(part), Math.log2(TILE_WIDTH))
      else this.append(part)
      at += part.length
    }
  }

  /** Returns the root of the tree with `size` leaves from the hashes of `subtreesOf(this.size, size)`. */
  rootWith(size: number, hashes: readonly Buffer[]): Buffer {
    const whole = new CompactRange()
    whole.#nodes.push(...this.#nodes)
    whole.#size = this.#size
    whole.#appendSubtrees(subtreesOf(this.#size, size), hashes)
    return whole.root()
  }

  root(): Buffer {
    return (
      this.#nodes
        .map(({ hash }) => hash)
        .reduceRight<Buffer | undefined>(
          (right, left) => (right ? nodeHash(left, right) : left),
          undefined,
        ) ?? EMPTY_ROOT
    )
  }

  #appendSubtrees(subtrees: readonly Subtree[], hashes: readonly Buffer[]): void {
    if (subtrees.length !== hashes.length)
      throw new RangeError(`${subtrees.length} hashes are needed, not ${hashes.length}`)
    subtrees.forEach(({ height }, at) => {
      this.append(hashes[at] as Buffer, height)
    })
  }
}
