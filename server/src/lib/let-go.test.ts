/** Memory that is given back: of whole pieces and of the last in a room, and never of others'. */
import { expect, test } from 'vitest'
import { letGo, lettingGo } from './let-go.ts'

const isGone = (piece: Uint8Array) => (piece.buffer as ArrayBuffer).detached

test('a piece by itself, and the last in a large room, are given back', () => {
  const [alone, room] = [Buffer.allocUnsafeSlow(100), Buffer.allocUnsafeSlow(1024 * 1024)]
  letGo(alone)
  expect(isGone(alone)).toBe(true)
  letGo(room.subarray(0, 1000))
  expect(isGone(room)).toBe(false)
  letGo(room.subarray(1000))
  expect(isGone(room)).toBe(true)
})

test('small pieces stay, as they lie among those of others', () => {
  // As many as fill more than a pool: some end where it does.
  const small = Array.from({ length: 3 * Buffer.poolSize }, () => Buffer.from('x'))
  for (const piece of small) letGo(piece)
  expect(small.filter(isGone)).toEqual([])
})

test('a piece is good until the next is asked for', async () => {
  async function* source() {
    for (let turn = 0; turn < 3; turn += 1) yield Buffer.allocUnsafeSlow(10).fill(turn)
  }
  const seen: Uint8Array[] = []
  for await (const piece of lettingGo(source())) {
    expect(seen.every(isGone)).toBe(true)
    expect(piece).toEqual(Buffer.alloc(10, seen.length))
    seen.push(piece)
  }
  expect(seen.filter(isGone)).toHaveLength(3)
})
