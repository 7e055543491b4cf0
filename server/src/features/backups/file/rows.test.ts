/** Tests that streams are split only between rows, and how long the buffers of the parts stay valid. */
import { expect, test } from 'vitest'
import { ahead, inParts, wholeRows } from './rows.ts'

const ROWS = Array.from({ length: 3_000 }, (_, id) => `${id}\t${'x'.repeat(id % 1_500)}\n`).join('')

async function* chunks(text: string, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
}

test.each([1, 700, 65_536])(
  'the row splitter splits chunks of %d bytes into complete rows',
  async (size) => {
    const text = ROWS.slice(0, size === 1 ? 5_000 : ROWS.length)
    const pieces = (await Array.fromAsync(wholeRows(chunks(text, size)))).map(String)
    expect(pieces.join('')).toBe(text)
    for (const piece of pieces.slice(0, -1)) expect(piece.at(-1)).toBe('\n')
  },
)

test('the row splitter starts another part after the row that reaches the minimum size', async () => {
  const parts: string[] = []
  for await (const part of inParts(chunks(ROWS, 10_000), 100_000))
    parts.push(Buffer.concat(part).toString())
  expect(parts.join('')).toBe(ROWS)
  expect(parts.length).toBeGreaterThan(10)
  for (const part of parts.slice(0, -1)) {
    expect(part.at(-1)).toBe('\n')
    expect(part.length).toBeGreaterThan(90_000)
  }
})

test('the row splitter keeps a row in one part even if the row exceeds the size of a part', async () => {
  const long = `1\t${'y'.repeat(3 * 1024 * 1024)}\n`
  const parts: number[] = []
  for await (const part of inParts(chunks(`${ROWS}${long}${ROWS}`, 65_536), 4_000_000))
    parts.push(Buffer.concat(part).length)
  expect(parts).toHaveLength(2)
  expect(parts[0]).toBeGreaterThan(long.length)
})

test('the row splitter does not overwrite a part until the second part after it is requested', async () => {
  const parts = inParts(chunks(ROWS, 10_000), 100_000)
  const first = (await parts.next()).value as Buffer[]
  const text = Buffer.concat(first).toString()
  await parts.next()
  expect(Buffer.concat(first).toString()).toBe(text)
  await parts.next()
  expect(Buffer.concat(first).toString()).not.toBe(text)
})

test('the row splitter fetches exactly one value in advance', async () => {
  const asked: number[] = []
  async function* numbers() {
    for (let number = 1; number <= 3; number += 1) {
      asked.push(number)
      yield number
    }
  }
  for await (const number of ahead(numbers())) expect(asked).toEqual([1, 2, 3].slice(0, number + 1))
})

test('the row splitter yields the values before an error, and closes the source if the reader breaks the loop', async () => {
  let isEnded = false
  async function* failing() {
    try {
      yield 1
      yield 2
      throw new Error('the database went away')
    } finally {
      isEnded = true
    }
  }
  const read: number[] = []
  const reading = async () => {
    for await (const value of ahead(failing())) read.push(value)
  }
  await expect(reading()).rejects.toThrow('the database went away')
  expect(read).toEqual([1, 2])
  isEnded = false
  for await (const _ of ahead(failing())) break
  expect(isEnded).toBe(true)
})
