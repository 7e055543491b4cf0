import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { JsonBytes } from './json-bytes.ts'

const VALUE = { words: Array.from({ length: 500 }, () => 'again') }
const json = new JsonBytes(VALUE)

test.each([
  [undefined, undefined],
  ['', undefined],
  ['identity', undefined],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['GZIP;q=0.5, br;q=0', 'gzip'],
  ['br;q=0.0, gzip;q=0', undefined],
])(
  'a cached JSON response chooses an encoding for Accept-Encoding %j: %j',
  (accepted, expected) => {
    const { bytes, encoding } = json.for(accepted)
    expect(encoding).toBe(expected)
    const plain =
      encoding === 'br' ? brotliDecompressSync(bytes) : encoding ? gunzipSync(bytes) : bytes
    expect(JSON.parse(plain.toString())).toEqual(VALUE)
  },
)

test('a cached JSON response reuses the same bytes for several responses', () => {
  expect(json.for('gzip').bytes).toBe(json.for('gzip').bytes)
})
