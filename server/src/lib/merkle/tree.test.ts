import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { isConsistent } from '../../../test/transparency/consistency.ts'
import {
  appendLeaves,
  consistencyProof,
  EMPTY_ROOT,
  inclusionProof,
  leafHash,
  nodeHash,
  rootOf,
  Tiles,
  tilesForConsistency,
  tilesForProof,
  tilesForRoot,
} from './tree.ts'

const leaves = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => leafHash(Buffer.from(`leaf ${from + at}`)))

/** Computes the root as RFC 6962 §2.1 defines it. */
function naiveRoot(hashes: readonly Buffer[]): Buffer {
  if (hashes.length === 0) return createHash('sha256').digest()
  if (hashes.length === 1) return hashes[0] as Buffer
  let half = 1
  while (half * 2 < hashes.length) half *= 2
  return nodeHash(naiveRoot(hashes.slice(0, half)), naiveRoot(hashes.slice(half)))
}

/** Verifies an inclusion proof as RFC 9162 §2.1.3.2 describes it. */
function provenRoot(leaf: Buffer, index: number, size: number, proof: readonly Buffer[]): Buffer {
  let [at, last, hash] = [index, size - 1, leaf]
  for (const other of proof) {
    if (last === 0) throw new Error('the proof is too long')
    if (at % 2 === 1 || at === last) {
      hash = nodeHash(other, hash)
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
    } else hash = nodeHash(hash, other)
    ;[at, last] = [Math.floor(at / 2), Math.floor(last / 2)]
  }
  expect(last).toBe(0)
  return hash
}

/** Returns only the named tiles, so that a proof cannot use others. */
function only(tiles: Tiles, places: ReturnType<typeof tilesForProof>): Tiles {
  const some = new Tiles()
  for (const place of places) some.set(place, tiles.get(place) as Buffer)
  return some
}

const SIZES = [1, 2, 3, 5, 8, 255, 256, 257, 511, 513, 700, 1024]
const all = leaves(1024)
const whole = new Tiles()
appendLeaves(whole, 0, all)

describe('a tree in tiles', () => {
  test('has the root of RFC 6962, without leaves too', () => {
    expect(rootOf(new Tiles(), 0)).toEqual(EMPTY_ROOT)
    for (const size of SIZES)
      expect(rootOf(only(whole, tilesForRoot(size)), size)).toEqual(naiveRoot(all.slice(0, size)))
  })

  test('is the same however the leaves were appended', () => {
    for (const step of [1, 7, 255, 256, 300]) {
      const stored = new Map<string, { place: { level: number; index: number }; hashes: Buffer }>()
      for (let size = 0; size < 700; size += step) {
        const edge = new Tiles()
        for (const place of tilesForRoot(size))
          edge.set(place, stored.get(JSON.stringify(place))?.hashes as Buffer)
        const added = all.slice(size, Math.min(size + step, 700))
        for (const tile of appendLeaves(edge, size, added))
          stored.set(JSON.stringify(tile.place), tile)
      }
      const tiles = new Tiles()
      for (const { place, hashes } of stored.values()) tiles.set(place, hashes)
      expect(rootOf(tiles, 700)).toEqual(naiveRoot(all.slice(0, 700)))
    }
  })

  test('proves each leaf with the tiles of its proof alone', () => {
    for (const size of SIZES)
      for (const index of new Set(
        [0, 1, 2, 254, 255, 256, 300, size - 1].filter((i) => i < size),
      )) {
        const proof = inclusionProof(only(whole, tilesForProof(index, size)), index, size)
        const root = provenRoot(all[index] as Buffer, index, size, proof)
        expect([index, size, root]).toEqual([index, size, naiveRoot(all.slice(0, size))])
      }
    expect(() => inclusionProof(whole, 5, 5)).toThrow(RangeError)
  })

  test('proves that it extends each smaller tree, with the tiles of the proof alone', () => {
    const pairs = [
      ...Array.from({ length: 40 }, (_, at) => at + 1).flatMap((size) =>
        Array.from({ length: size + 1 }, (_, old) => [old, size] as const),
      ),
      ...SIZES.flatMap((size) => [...SIZES, size - 1].map((old) => [old, size] as const)),
    ].filter(([old, size]) => old <= size)
    const rootAt = (size: number) => naiveRoot(all.slice(0, size))
    for (const [old, size] of pairs) {
      const proof = consistencyProof(only(whole, tilesForConsistency(old, size)), old, size)
      const heads = { old, size, oldRoot: rootAt(old), root: rootAt(size) }
      expect([old, size, isConsistent(heads, proof)]).toEqual([old, size, true])
      if (old === 0 || old === size) continue
      expect(isConsistent({ ...heads, oldRoot: EMPTY_ROOT }, proof)).toBe(false)
      expect(isConsistent({ ...heads, root: EMPTY_ROOT }, proof)).toBe(false)
      expect(isConsistent(heads, proof.slice(1))).toBe(false)
      expect(isConsistent(heads, [...proof, EMPTY_ROOT])).toBe(false)
    }
    expect(() => consistencyProof(whole, 6, 5)).toThrow(RangeError)
  })
})
