import { describe, expect, test } from 'vitest'
import { CompactRange, subtreesOf, tilesForSubtrees } from './range.ts'
import { entriesPath, tilePath } from './tile-paths.ts'
import { openTileStream } from './tile-stream.ts'
import { appendLeaves, leafHash, rootOf, Tiles, tilesForRoot } from './tree.ts'

const SIZE = 1_300
const leaves = Array.from({ length: SIZE }, (_, at) => leafHash(`leaf ${at}`))
const whole = new Tiles()
appendLeaves(whole, 0, leaves)

/** Returns the hashes of the subtrees, with no tiles but those that the subtrees need. */
function nodes(start: number, end: number) {
  const subtrees = subtreesOf(start, end)
  const tiles = new Tiles()
  for (const place of tilesForSubtrees(subtrees)) tiles.set(place, whole.get(place) as Buffer)
  return subtrees.map(({ height, index }) => tiles.node(height, index))
}

describe('a compact range', () => {
  test('has the root of the tree at every size', () => {
    const range = new CompactRange()
    expect(range.root()).toEqual(rootOf(whole, 0))
    for (const [at, leaf] of leaves.entries()) {
      range.append(leaf)
      expect(range.root()).toEqual(rootOf(whole, at + 1))
    }
  })

  test('has the same root if its leaves were appended in pieces', () => {
    for (const step of [1, 7, 255, 256, 257, 600]) {
      const range = new CompactRange()
      for (let at = 0; at < SIZE; at += step)
        range.appendLeaves(Buffer.concat(leaves.slice(at, at + step)))
      expect([range.size, range.root()]).toEqual([SIZE, rootOf(whole, SIZE)])
    }
  })

  test('leads from any part of the leaves to the root of the whole tree', () => {
    for (const [first, end] of [
      [0, SIZE],
      [0, 1],
      [1, 2],
      [255, 257],
      [256, 512],
      [700, SIZE],
      [SIZE, SIZE],
    ] as const) {
      const range = CompactRange.of(first, nodes(0, first))
      range.appendLeaves(Buffer.concat(leaves.slice(first, end)))
      expect(range.rootWith(SIZE, nodes(end, SIZE))).toEqual(rootOf(whole, SIZE))
      expect(range.root()).toEqual(rootOf(whole, end))
    }
  })

  test('refuses a wrong number of hashes', () => {
    expect(() => CompactRange.of(3, nodes(0, 2))).toThrow(RangeError)
    expect(() => new CompactRange().rootWith(4, nodes(0, 3))).toThrow(RangeError)
  })
})

test('a stream of leaves gives each tile once, and partial ones at its end', () => {
  for (const step of [1, 200, 256, 513]) {
    const stream = openTileStream()
    const built = []
    for (let at = 0; at < SIZE; at += step)
      built.push(...stream.append(leaves.slice(at, at + step)))
    const all = [...built, ...stream.partial()]
    expect(all.map(tilePath)).toEqual(
      expect.arrayContaining(['tile/0/000', 'tile/0/004', 'tile/0/005.p/20', 'tile/1/000.p/5']),
    )
    expect(all).toHaveLength(7)
    const tiles = new Tiles()
    for (const { hashes, ...place } of all) tiles.set(place, hashes)
    expect(tilesForRoot(SIZE).every((place) => tiles.get(place))).toBe(true)
    expect(rootOf(tiles, SIZE)).toEqual(rootOf(whole, SIZE))
  }
})

// The example of C2SP tlog-tiles, and its neighbors.
test('paths of tiles have three digits a folder', () => {
  expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067')
  expect(tilePath({ level: 2, index: 0, width: 1 })).toBe('tile/2/000.p/1')
  expect(entriesPath({ index: 999, width: 256 })).toBe('tile/entries/999')
  expect(entriesPath({ index: 1_000, width: 112 })).toBe('tile/entries/x001/000.p/112')
})
