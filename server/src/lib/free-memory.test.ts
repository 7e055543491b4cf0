/** Tests that memory is released for whole buffers and for the last part of a buffer, but never for shared buffers. */
import { expect, test } from 'vitest'
import { releaseChunk, releasingChunks } from './free-memory.ts'

const isGone = (piece: Uint8Array) => (piece.buffer as ArrayBuffer).detached

test('letGo() frees the memory of a separate buffer, and of a large buffer with its last part', () => {
  const [alone, room] = [Buffer.allocUnsafeSlow(100), Buffer.allocUnsafeSlow(1024 * 1024)]
  releaseChunk(alone)
  expect(isGone(alone)).toBe(true)
  releaseChunk(room.subarray(0, 1000))
  expect(isGone(room)).toBe(false)
  releaseChunk(room.subarray(1000))
  expect(isGone(room)).toBe(true)
})

test('letGo() does not free small buffers, because they share memory with others', () => {
  // Fills more than one pool, so that some buffers end where a pool ends.
  const small = Array.from({ length: 3 * Buffer.poolSize }, () => Buffer.from('x'))
  for (const piece of small) releaseChunk(piece)
  expect(small.filter(isGone)).toEqual([])
})

test('lettingGo() does not free a chunk before the next one is requested', async () => {
  async function* source() {
    for (let turn = 0; turn < 3; turn += 1) yield Buffer.allocUnsafeSlow(10).fill(turn)
  }
  const seen: Uint8Array[] = []
  for await (const piece of releasingChunks(source())) {
    expect(seen.every(isGone)).toBe(true)
    expect(piece).toEqual(Buffer.alloc(10, seen.length))
    seen.push(piece)
  }
  expect(seen.filter(isGone)).toHaveLength(3)
})
