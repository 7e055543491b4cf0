import { describe, expect, it } from 'vitest'
import { type ContentEncoding, chooseEncoding } from './accept-encoding.ts'

const ALL = new Set<ContentEncoding>(['identity', 'gzip', 'br'])

describe('choosing the encoding of a response', () => {
  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1.0, br;q=0.2', 'br'],
    ['gzip, br;q=0', 'gzip'],
    ['GZIP', 'gzip'],
    ['*', 'br'],
    ['*, br;q=0', 'gzip'],
    ['gzip ; q=0.5', 'gzip'],
    ['deflate', 'identity'],
    ['gzip;q=0, br;q=0.000', 'identity'],
    ['gzip;q=high', 'identity'],
    ['identity', 'identity'],
    ['', 'identity'],
    [undefined, 'identity'],
  ])('chooses the encoding for Accept-Encoding: %s', (header, encoding) => {
    expect(chooseEncoding(header, ALL)).toBe(encoding)
  })

  it('chooses only encodings that are available', () => {
    expect(chooseEncoding('br, gzip', new Set<ContentEncoding>(['identity', 'gzip']))).toBe('gzip')
    expect(chooseEncoding('br, gzip', new Set<ContentEncoding>(['identity']))).toBe('identity')
  })
})
