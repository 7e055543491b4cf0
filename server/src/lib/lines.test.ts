import { expect, test } from 'vitest'
import { linesOf, MalformedLines } from './lines.ts'

async function* inChunks(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(bytes: Buffer, size: number, maxBytes = 100): Promise<string[]> {
  const found: string[] = []
  for await (const lines of linesOf(inChunks(bytes, size), maxBytes)) found.push(...lines)
  return found
}

test('the lines are the same for chunks of any size, also inside a character', async () => {
  const text = Buffer.from('first\n\nzweite Zeile: \u00e4\u00f6\u00fc \u{1f600}\nlast\n')
  for (let size = 1; size <= text.length; size += 1)
    expect(await read(text, size)).toEqual([
      'first',
      '',
      'zweite Zeile: \u00e4\u00f6\u00fc \u{1f600}',
      'last',
    ])
  expect(await read(Buffer.alloc(0), 1)).toEqual([])
})

test('a line without an end is refused', async () => {
  await expect(read(Buffer.from('first\nsec'), 4)).rejects.toThrow('Line 2 is cut: it has no end.')
})

test('a line of endless length is refused after its maximum length', async () => {
  let chunks = 0
  async function* endless() {
    for (;;) {
      chunks += 1
      yield Buffer.alloc(10, 'x')
    }
  }
  await expect(linesOf(endless(), 95).next()).rejects.toThrow(MalformedLines)
  expect(chunks).toBe(10)
})

test('a long line within one chunk is refused if its end is missing or its begin was earlier', async () => {
  await expect(read(Buffer.from(`a\n${'x'.repeat(101)}`), 200)).rejects.toThrow(MalformedLines)
  await expect(read(Buffer.from(`a\n${'x'.repeat(101)}\n`), 60)).rejects.toThrow(MalformedLines)
})
