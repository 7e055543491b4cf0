/** What is kept of an answer's body: whole characters from its beginning, and none that is refused later. */
import { describe, expect, test } from 'vitest'
import { readBody } from './answer.ts'

function keep(keepBytes: number, ...chunks: (string | Buffer)[]): string {
  const reader = readBody(keepBytes)
  for (const chunk of chunks) reader.take(Buffer.from(chunk as string))
  return reader.text()
}

describe('of a body is kept', () => {
  test.each([
    ['nothing of none', keep(4), ''],
    ['all of a short one', keep(4, 'ab', 'cd'), 'abcd'],
    ['the beginning of a long one', keep(4, 'abc', 'def', 'ghi'), 'abcd'],
    ['nothing, where nothing is wanted', keep(0, 'abc'), ''],
    ['no half of a character of two bytes', keep(4, 'abcä'), 'abc'],
    ['no third of a character of three bytes', keep(4, 'ab€'), 'ab'],
    ['no part of a character of four bytes', keep(4, 'a😀'), 'a'],
    [
      'a character that came in two pieces',
      keep(9, Buffer.from([0xe2]), Buffer.from([0x82, 0xac])),
      '€',
    ],
    ['a sign for bytes that are no text', keep(9, Buffer.from([0x61, 0xff, 0x62])), 'a\uFFFDb'],
    ['a sign for a character that the server cut', keep(9, Buffer.from([0x61, 0xe2])), 'a\uFFFD'],
    ['a sign for NUL', keep(9, 'a\0b'), 'a\uFFFDb'],
  ])('%s', (_what, kept, expected) => {
    expect(kept).toBe(expected)
  })
})

test('a body is read up to 64 KiB, and no further', () => {
  const reader = readBody(1)
  expect(reader.take(Buffer.alloc(64 * 1024))).toBe(true)
  expect(reader.take(Buffer.alloc(1))).toBe(false)
})
