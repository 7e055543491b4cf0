/**
 * Tests the part of a response body that is stored. It is the beginning of the body, in whole characters that
 * PostgreSQL accepts.
 */
import { describe, expect, test } from 'vitest'
import { readBody } from './answer.ts'

function keep(keepBytes: number, ...chunks: (string | Buffer)[]): string {
  const reader = readBody(keepBytes)
  for (const chunk of chunks) reader.take(Buffer.from(chunk as string))
  return reader.text()
}

describe('the stored part of a response body', () => {
  test.each([
    ['nothing of an empty body', keep(4), ''],
    ['all of a short body', keep(4, 'ab', 'cd'), 'abcd'],
    ['the beginning of a long body', keep(4, 'abc', 'def', 'ghi'), 'abcd'],
    ['nothing if nothing is requested', keep(0, 'abc'), ''],
    ['no half of a character of two bytes', keep(4, 'abcä'), 'abc'],
    ['no third of a character of three bytes', keep(4, 'ab€'), 'ab'],
    ['no part of a character of four bytes', keep(4, 'a😀'), 'a'],
    [
      'a character that arrived in two chunks',
      keep(9, Buffer.from([0xe2]), Buffer.from([0x82, 0xac])),
      '€',
    ],
    ['U+FFFD for bytes that are not text', keep(9, Buffer.from([0x61, 0xff, 0x62])), 'a\uFFFDb'],
    [
      'U+FFFD for a character that the server truncated',
      keep(9, Buffer.from([0x61, 0xe2])),
      'a\uFFFD',
    ],
    ['U+FFFD for NUL', keep(9, 'a\0b'), 'a\uFFFDb'],
  ])('contains %s', (_what, kept, expected) => {
    expect(kept).toBe(expected)
  })
})

test('a response body is read up to 64 KiB', () => {
  const reader = readBody(1)
  expect(reader.take(Buffer.alloc(64 * 1024))).toBe(true)
  expect(reader.take(Buffer.alloc(1))).toBe(false)
})
