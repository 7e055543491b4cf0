/** A file written beside its source: the very bytes, on the disk as it grows, and no failure that is not told. */
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { scratch } from '../../../../test/support/scratch.ts'
import { letGo } from '../../../lib/let-go.ts'
import { writeOut } from './write-out.ts'

const MIB = 1024 * 1024
const unasked = async () => undefined

async function newFile(): Promise<{ file: FileHandle; written(): Promise<Buffer> }> {
  const path = join(await scratch(), 'file')
  const file = await open(path, 'wx')
  onTestFinished(() => file.close())
  return { file, written: () => readFile(path) }
}

/** Pieces of a size, each of which is gone once the next is asked for. */
async function* inPieces(bytes: Buffer, size: number) {
  for (let from = 0; from < bytes.length; from += size) {
    const piece = Buffer.from(Uint8Array.prototype.slice.call(bytes, from, from + size))
    yield piece
    letGo(piece)
  }
}

test.each([
  [0, 1],
  [1, 1],
  [MIB, 100_000],
  [3 * MIB + 1, 100_000],
  [5 * MIB, MIB],
  [5 * MIB + 7, 4 * MIB + 3],
])('%i bytes in pieces of %i', async (size, pieces) => {
  const { file, written } = await newFile()
  const bytes = randomBytes(size)
  const told: number[] = []
  await writeOut(file, inPieces(bytes, pieces), async (count) => void told.push(count))
  expect(Buffer.compare(await written(), bytes)).toBe(0)
  expect(told.reduce((sum, count) => sum + count, 0)).toBe(size)
  expect(Math.max(0, ...told)).toBeLessThanOrEqual(MIB)
})

test('it is brought to the disk as it grows, and once more at its end', async () => {
  const { file } = await newFile()
  const [beside, atTheEnd] = [vi.spyOn(file, 'datasync'), vi.spyOn(file, 'sync')]
  await writeOut(file, inPieces(Buffer.alloc(70 * MIB), MIB), unasked)
  expect(beside).toHaveBeenCalledTimes(2)
  expect(atTheEnd).toHaveBeenCalledOnce()
})

test.each(['writeFile', 'datasync', 'sync'] as const)('a failure of %s is told', async (name) => {
  const { file } = await newFile()
  vi.spyOn(file, name).mockRejectedValueOnce(new Error('the disk has gone'))
  const writing = writeOut(file, inPieces(Buffer.alloc(70 * MIB), MIB), unasked)
  await expect(writing).rejects.toThrow('the disk has gone')
})

test('behind a failure nothing is under way', async () => {
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
