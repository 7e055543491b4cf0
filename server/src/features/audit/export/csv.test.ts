import { describe, expect, it } from 'vitest'
import { csvLine } from './csv.ts'

describe('a line of CSV', () => {
  it('separates cells by commas and ends with CRLF', () => {
    expect(csvLine([1, 'a', null, undefined, true, ''])).toBe('1,a,,,true,\r\n')
  })

  it.each([
    ['a,b', '"a,b"'],
    ['say "x"', '"say ""x"""'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['a;b', '"a;b"'],
    ['Zoë 漢字', 'Zoë 漢字'],
    [' padded ', ' padded '],
  ])('writes %j as %j', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`)
  })

  it('writes objects as JSON', () => {
    expect(csvLine([{ after: { name: 'a' } }])).toBe('"{""after"":{""name"":""a""}}"\r\n')
  })

  it.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\tx', '"\'\tx"'],
    ['\rx', '"\'\rx"'],
    ['\nx', '"\'\nx"'],
    ['＝1', "'＝1"],
    ['="a",b', '"\'=""a"",b"'],
    ['x;=1', '"x;\'=1"'],
    ['x; +1', '"x; \'+1"'],
    ['x\t@1', '"x\t\'@1"'],
    ['x;"=1;y', '"x;""\'=1;y"'],
    ['x\n=1', '"x\n\'=1"'],
  ])('prevents a spreadsheet from executing %j', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`)
  })

  it.each(['a=b', 'a-b', 'anna@north.test', "'quoted"])('does not change %j', (value) => {
    expect(csvLine([value])).toBe(`${value}\r\n`)
  })
})
