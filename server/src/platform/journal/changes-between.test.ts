/** Tests the content of journal entries about changes. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fc } from '../../../test/support/properties.ts'
import { canonical, changesBetween, differing } from './changes-between.ts'

describe('the recorded change of a record', () => {
  const before = { name: 'A', size: 1, settings: { a: [1] }, secret: 'x', unasked: 1 }

  test('contains only the fields that differ', () => {
    const after = { ...before, size: 2, settings: { a: [1, 2] } }
    expect(changesBetween(before, after, ['name', 'size', 'settings'])).toEqual({
      before: { size: 1, settings: { a: [1] } },
      after: { size: 2, settings: { a: [1, 2] } },
    })
  })

  test('never contains fields that were not requested', () => {
    const after = { ...before, secret: 'y', unasked: 2 }
    expect(changesBetween(before, after, ['name'])).toEqual({ before: {}, after: {} })
  })

  test('includes all fields of a new or a deleted record', () => {
    expect(changesBetween(null, before, ['name', 'size'])).toEqual({
      before: null,
      after: { name: 'A', size: 1 },
    })
    expect(changesBetween(before, null, ['name', 'size'])).toEqual({
      before: { name: 'A', size: 1 },
      after: null,
    })
  })

  test('includes a value that became null', () => {
    const changes = changesBetween<{ head: number | null }>({ head: 3 }, { head: null }, ['head'])
    expect(changes).toEqual({ before: { head: 3 }, after: { head: null } })
  })
})

describe('the recorded change of an object', () => {
  const between = (before: object | null, after: object | null) =>
    changesBetween<{ settings: object | null }>({ settings: before }, { settings: after }, [
      'settings',
    ])
  const settingsOf = (before: object | null, after: object | null) => {
    const changes = between(before, after)
    return [changes.before?.settings, changes.after?.settings]
  }

  test('contains the keys that were added, removed or changed', () => {
    expect(settingsOf({ a: 1, b: 2, c: { d: [1] } }, { b: 3, c: { d: [1] }, e: 4 })).toEqual([
      { a: 1, b: 2 },
      { b: 3, e: 4 },
    ])
  })

  test('is empty if only the order of the keys differs', () => {
    const changes = between({ a: 1, b: { c: 1, d: 2 } }, { b: { d: 2, c: 1 }, a: 1 })
    expect(changes).toEqual({ before: {}, after: {} })
  })

  test('contains all keys if there was no object before', () => {
    expect(settingsOf(null, { a: 1 })).toEqual([null, { a: 1 }])
  })

  test('replaces a value over 1 KiB with the hash and size of its canonical form', () => {
    const long = { z: 'é'.repeat(600), a: 1 }
    const text = `{"a":1,"z":"${'é'.repeat(600)}"}`
    const sha256 = createHash('sha256').update(text).digest('hex')
    expect(settingsOf({ k: 'short' }, { k: long })).toEqual([
      { k: 'short' },
      { k: { sha256, bytes: 1214 } },
    ])
    expect(settingsOf({}, { k: 'x'.repeat(1022) })[1]).toEqual({ k: 'x'.repeat(1022) })
    expect(settingsOf({}, { k: 'x'.repeat(1023) })[1]).toMatchObject({ k: { bytes: 1025 } })
  })

  test('is a single hash if many short values together exceed 4 KiB', () => {
    const after = Object.fromEntries(Array.from({ length: 1000 }, (_, key) => [`k${key}`, key]))
    const [, shown] = settingsOf({ k5: 5 }, after)
    const { k5: _, ...differing } = after
    expect(shown).toEqual({
      sha256: createHash('sha256').update(canonical(differing)).digest('hex'),
      bytes: canonical(differing).length,
    })
  })
})

describe('the comparison of two values', () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => value as unknown)

  test('finds values equal exactly if their canonical JSON is equal', () => {
    fc.assert(
      fc.property(fc.oneof(json, fc.constant(undefined)), json, (one, other) => {
        expect(differing({ value: one }, { value: other })).toEqual(
          one !== undefined && canonical(one) === canonical(other) ? [] : ['value'],
        )
      }),
    )
  })

  test.each([
    [{ a: 1, b: [{ c: 1, d: 2 }] }, { b: [{ d: 2, c: 1 }], a: 1 }, true],
    [[1, 2], [2, 1], false],
    [[], {}, false],
    [{ a: null }, { b: null }, false],
    [{ a: null }, {}, false],
    [{ a: undefined }, { a: null }, true],
    [{ '0': 1 }, [1], false],
    [0, -0, true],
    [null, {}, false],
    ['1', 1, false],
  ])('treats %j and %j as equal: %j', (one, other, same) => {
    expect(canonical(one) === canonical(other)).toBe(same)
    expect(differing({ value: one }, { value: other as unknown })).toEqual(same ? [] : ['value'])
    expect(differing({ value: other as unknown }, { value: one })).toEqual(same ? [] : ['value'])
  })
})

test.each([
  [{ b: 1, a: [{ d: 1, c: 2 }], ä: null }, '{"a":[{"c":2,"d":1}],"b":1,"ä":null}'],
  ['x', '"x"'],
  [undefined, 'null'],
  [{ '10': 1, '9': 2, __proto__x: 3 }, '{"10":1,"9":2,"__proto__x":3}'],
])('the journal writes %j as the canonical JSON %s', (value, text) => {
  expect(canonical(value)).toBe(text)
})
