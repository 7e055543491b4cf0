/** Tests that files are written completely and flushed while they grow, and that every failure is reported. */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { scratch } from '../../../../test/support/scratch.ts'
import { releaseChunk } from '../../../lib/free-memory.ts'
import { writeOut } from './write-out.ts'

const MIB = 1024 * 1024
const unasked = async () => undefined

async function newFile(): Promise<{ file: FileHandle; written(): Promise<Buffer> }> {
  const path = join(await scratch(), 'file')
  const file = await open(path, 'wx')
  onTestFinished(() => file.close())
  return { file, written: () => readFile(path) }
}

/** Yields pieces of the same size. A piece is freed when the next one is requested. */
async function* inPieces(bytes: Buffer, size: number) {
  for (let from = 0; from < bytes.length; from += size) {
    const piece = Buffer.from(Uint8Array.prototype.slice.call(bytes, from, from + size))
    yield piece
    releaseChunk(piece)
  }
}

test.each([
  [0, 1],
  [1, 1],
  [MIB, 100_000],
  [3 * MIB + 1, 100_000],
  [5 * MIB, MIB],
  [5 * MIB + 7, 4 * MIB + 3],
])('the file writer writes %i bytes to a file in pieces of %i', async (size, pieces) => {
  const { file, written } = await newFile()
  const bytes = randomBytes(size)
  const reported: number[] = []
  await writeOut(file, inPieces(bytes, pieces), async (count) => void reported.push(count))
  expect(Buffer.compare(await written(), bytes)).toBe(0)
  expect(reported.reduce((sum, count) => sum + count, 0)).toBe(size)
  expect(Math.max(0, ...reported)).toBeLessThanOrEqual(MIB)
})

test('the file writer flushes the file repeatedly while it grows, and once at its end', async () => {
  const { file } = await newFile()
  const [beside, atTheEnd] = [vi.spyOn(file, 'datasync'), vi.spyOn(file, 'sync')]
  await writeOut(file, inPieces(Buffer.alloc(70 * MIB), MIB), unasked)
  expect(beside).toHaveBeenCalledTimes(2)
  expect(atTheEnd).toHaveBeenCalledOnce()
})

test.each(['writeFile', 'datasync', 'sync'] as const)(
  'the file writer throws the error of a failed %s call',
  async (name) => {
    const { file } = await newFile()
    vi.spyOn(file, name).mockRejectedValueOnce(new Error('the disk has gone'))
    const writing = writeOut(file, inPieces(Buffer.alloc(70 * MIB), MIB), unasked)
    await expect(writing).rejects.toThrow('the disk has gone')
  },
)

test('the file writer waits for a running write before it throws an error', async () => {
  const { file } = await newFile()
  const write = file.writeFile.bind(file)
  let isUnderWay = false
  vi.spyOn(file, 'writeFile').mockImplementation(async (...given) => {
    isUnderWay = true
    await delay(50)
    await write(...given)
    isUnderWay = false
  })
  async function* failing() {
    yield Buffer.alloc(MIB)
    throw new Error('no more')
  }
  await expect(writeOut(file, failing(), unasked)).rejects.toThrow('no more')
  expect(isUnderWay).toBe(false)
})
