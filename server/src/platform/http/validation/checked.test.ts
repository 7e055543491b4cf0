/** Tests that hostile input causes little work: only declared fields are read, and lists only up to their limit. */
import Type, { type TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { FreeForm, OneOf } from '../../../lib/shapes.ts'
import { checkedSchema } from './checked.ts'
import { compileCheck } from './validator.ts'

/** Counts every access to `target`: reads of a value, reads of its keys, and checks whether a key exists. */
function watch<T extends object>(target: T) {
  const seen = { values: 0, other: 0 }
  const other =
    <A extends unknown[], R>(look: (...args: A) => R) =>
    (...args: A) => {
      seen.other += 1
      return look(...args)
    }
  const value = new Proxy(target, {
    get(of, key) {
      seen.values += 1
      return Reflect.get(of, key)
    },
    ownKeys: other(Reflect.ownKeys),
    has: other(Reflect.has),
    getOwnPropertyDescriptor: other(Reflect.getOwnPropertyDescriptor),
  })
  return { value, seen }
}

const words = (length: number) => Array.from({ length }, (_, at) => `w${at}`)

describe('undeclared fields of the input', () => {
  const check = compileCheck(Type.Object({ a: Type.String(), b: Type.Integer() }), 'body')

  test('are not read, even if there are very many of them', () => {
    const many = Object.fromEntries(words(95_000).map((name) => [name, 0]))
    const { value, seen } = watch({ ...many, a: 'x', b: 1 })
    expect(check(value)).toEqual({ value: { a: 'x', b: 1 }, issues: [] })
    expect(seen).toEqual({ values: 2, other: 2 })
  })

  test('are not read, even if they are very large', () => {
    const list = watch(Array.from({ length: 350_000 }, () => ({})))
    expect(check({ a: 'x', b: 1, x: list.value }).issues).toEqual([])
    expect(list.seen).toEqual({ values: 0, other: 0 })
  })
})

describe('lists in the input', () => {
  const check = compileCheck(
    Type.Object({ events: Type.Array(OneOf(words(20)), { minItems: 1, maxItems: 100 }) }),
    'body',
  )
  const typesOf = (events: unknown) =>
    check({ events }).issues.map(({ loc, type }) => `${loc.join('.')}: ${type}`)

  test('that are too long get one issue, and their items are not read', () => {
    const { value, seen } = watch(Array.from({ length: 500_000 }, () => 0))
    expect(typesOf(value)).toEqual(['body.events: too_long'])
    expect(seen.values + seen.other).toBeLessThan(10)
  })

  test('that are not too long get an issue for each invalid item', () => {
    expect(typesOf(['w1', 7, 'none'])).toEqual([
      'body.events.1: string_type',
      'body.events.1: enum',
      'body.events.2: enum',
    ])
    expect(typesOf([])).toEqual(['body.events: too_short'])
    expect(typesOf('w1')).toEqual(['body.events: list_type'])
  })

  test('of known words get one issue, even if several items are invalid', () => {
    const roles = compileCheck(
      Type.Object({ it: Type.Unsafe({ type: 'array', eachOf: words(6) }) }),
      'body',
    )
    const { value, seen } = watch(Array.from({ length: 100_000 }, () => 1))
    expect(roles({ it: value }).issues).toMatchObject([{ loc: ['body', 'it'] }])
    expect(seen.values).toBeLessThan(10)
  })
})

describe('a schema without limits for its values', () => {
  test.each<[string, TSchema]>([
    ['a list of any length', Type.Array(Type.String())],
    ['an object of any fields', Type.Unsafe({ type: 'object', additionalProperties: true })],
    ['a record of text', Type.Record(Type.String(), Type.String())],
    ['a choice of schemas', Type.Union([Type.String(), Type.Integer()])],
  ])('stops startup if it is %s', (_, schema) => {
    expect(() => checkedSchema(Type.Object({ it: schema }) as never)).toThrow()
    expect(() => checkedSchema(Type.Object({ it: FreeForm }) as never)).not.toThrow()
  })
})
