/** Tests input validation: all issues together, in the issue format of Pydantic v2. */
import Type, { type TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { patterned } from '../../../lib/patterns.ts'
import { EmailAddress, FreeForm, Id, Name, Nullable, OneOf } from '../../../lib/shapes.ts'
import type { RequestPart } from './issues.ts'
import { isDateOrTime } from './keywords.ts'
import { compileCheck } from './validator.ts'

/** Validates a field with this schema. Returns its single issue as `[type, msg]`. */
function issueOf(schema: TSchema, value: unknown, part: RequestPart = 'body') {
  const { issues } = compileCheck(Type.Object({ it: schema }), part)({ it: value })
  expect(issues).toHaveLength(1)
  expect(issues[0]?.loc).toEqual([part, 'it'])
  return [issues[0]?.type, issues[0]?.msg]
}

const tooDeep = (levels: number) => {
  let value: object = {}
  for (let level = 1; level < levels; level++) value = { in: value }
  return value
}

describe('an invalid value', () => {
  test.each<[string, TSchema, unknown, string, string | RegExp]>([
    ['text', Type.String(), 1, 'string_type', 'Input should be a valid string'],
    ['an integer', Type.Integer(), '1', 'int_type', 'Input should be a valid integer'],
    ['a fraction', Type.Integer(), 1.5, 'int_type', 'Input should be a valid integer'],
    ['a boolean', Type.Boolean(), 1, 'bool_type', 'Input should be a valid boolean'],
    ['a list', Type.Array(Id, { maxItems: 3 }), {}, 'list_type', 'Input should be a valid list'],
    ['an object', FreeForm, [], 'dict_type', 'Input should be a valid dictionary'],
    ['null', Type.String(), null, 'string_type', 'Input should be a valid string'],
    [
      'too short',
      Type.String({ minLength: 2 }),
      'x',
      'string_too_short',
      'String should have at least 2 characters',
    ],
    ['empty', Name, '', 'string_too_short', 'String should have at least 1 character'],
    ['blank', Name, ' \t\n', 'string_too_short', 'String should have at least 1 character'],
    [
      'too long',
      Type.String({ maxLength: 1 }),
      'xy',
      'string_too_long',
      'String should have at most 1 character',
    ],
    [
      'a pattern',
      Type.String(patterned('^a$', 'be an a')),
      'b',
      'string_pattern_mismatch',
      'String should be an a',
    ],
    ['too small', Id, 0, 'greater_than_equal', 'Input should be greater than or equal to 1'],
    [
      'too large',
      Type.Integer({ maximum: 5 }),
      6,
      'less_than_equal',
      'Input should be less than or equal to 5',
    ],
    ['a word', OneOf(['a', 'b', 'c']), 'd', 'enum', "Input should be 'a', 'b' or 'c'"],
    ['the one word', OneOf(['a']), 'd', 'enum', "Input should be 'a'"],
    ['a word or null', Nullable(OneOf(['a', 'b'])), 'd', 'enum', "Input should be 'a' or 'b'"],
    ['a nullable', Nullable(Id), 'x', 'int_type', 'Input should be a valid integer'],
    ['an e-mail', EmailAddress, 'nobody', 'value_error', 'value is not a valid email address'],
    [
      'a date',
      Type.String({ format: 'date-or-time' }),
      '2026-02-30',
      'datetime_parsing',
      /^Input should be a valid date/,
    ],
    [
      'a URL',
      Type.String({ format: 'uri' }),
      'no url',
      'url_parsing',
      'Input should be a valid URL',
    ],
    ['NUL', Type.String(), 'a\0', 'value_error', /^Value error, /],
    ['a lone surrogate', Type.String(), '\ud800', 'value_error', /^Value error, /],
    ['too large a settings object', FreeForm, { a: 'x'.repeat(65_536) }, 'value_error', /64 KiB/],
    ['too deep a settings object', FreeForm, tooDeep(33), 'value_error', /32 levels/],
  ])('is reported with the expected issue: %s', (_, schema, value, type, msg) => {
    const [saidType, saidMsg] = issueOf(schema, value)
    expect(saidType).toBe(type)
    if (typeof msg === 'string') expect(saidMsg).toBe(msg)
    else expect(saidMsg).toMatch(msg)
  })

  test.each<[TSchema, string, string]>([
    [Id, 'x', 'int_parsing'],
    [Id, '', 'int_parsing'],
    [Id, '1.5', 'int_parsing'],
    [Type.Boolean(), 'x', 'bool_parsing'],
    [Id, '0', 'greater_than_equal'],
    [Id, '9007199254740992', 'less_than_equal'],
  ])(
    'that is query text of the wrong type gets a parsing issue (case %#)',
    (schema, text, type) => {
      expect(issueOf(schema, text, 'query')[0]).toBe(type)
      expect(issueOf(schema, text, 'path')[0]).toBe(type)
    },
  )
})

describe('input validation', () => {
  const check = compileCheck(
    Type.Object({
      name: Name,
      role: OneOf(['doctor', 'nurse']),
      ids: Type.Array(Id, { maxItems: 3 }),
      deep: Type.Object({ 'a/b~c': Type.Boolean() }),
      page: Type.Integer({ default: 1 }),
    }),
    'body',
  )

  test('reports all issues together, each with its path and with list positions as text', () => {
    const { issues } = check({ role: 'king', ids: [1, 'x', 0], deep: { 'a/b~c': 'no' } })
    expect(issues.map(({ loc, type }) => [loc.join('.'), type]).sort()).toEqual([
      ['body.deep.a/b~c', 'bool_type'],
      ['body.ids.1', 'int_type'],
      ['body.ids.2', 'greater_than_equal'],
      ['body.name', 'missing'],
      ['body.role', 'enum'],
    ])
    for (const { loc } of issues) for (const step of loc) expect(step).toBeTypeOf('string')
  })

  test('fills in defaults, trims text and removes undeclared fields', () => {
    const value: Record<string, unknown> = {
      name: '  Ada  ',
      role: 'nurse',
      ids: [],
      deep: { 'a/b~c': true, is_superadmin: true },
      is_superadmin: true,
    }
    expect(check(value)).toEqual({
      value: { name: 'Ada', role: 'nurse', ids: [], deep: { 'a/b~c': true }, page: 1 },
      issues: [],
    })
  })

  test.each([[[]], ['text'], [1], [null], [true]])(
    'requires an object as the body, not %j',
    (value) => {
      expect(check(value).issues).toEqual([
        { loc: ['body'], type: 'dict_type', msg: 'Input should be a valid dictionary' },
      ])
    },
  )

  test('counts length in characters, not in UTF-16 code units', () => {
    const most = compileCheck(Type.Object({ it: Type.String({ maxLength: 2 }) }), 'body')
    expect(most({ it: '👩🏥' }).issues).toEqual([])
    expect(most({ it: '👩🏥x' }).issues).toHaveLength(1)
  })

  test('accepts a free-form object up to the limits of its size and depth', () => {
    const free = compileCheck(Type.Object({ it: FreeForm }), 'body')
    expect(free({ it: {} }).issues).toEqual([])
    expect(free({ it: tooDeep(32) }).issues).toEqual([])
    expect(free({ it: { any: ['thing', 1, null, { __x: true }] } }).issues).toEqual([])
  })

  test.each([
    ['1e+308', 1e308, 309],
    ['5e-324', 5e-324, 326],
    ['-1.5e-7', -1.5e-7, 11],
    ['1', 1, 1],
  ])(
    'counts a number in a free-form object by its digits without an exponent: %s',
    (_, number, digits) => {
      const free = compileCheck(Type.Object({ it: FreeForm }), 'body')
      // Each number except the last is followed by a comma, and `{"a":[` and `]}` enclose all of them.
      const most = Math.floor((65_536 - 7) / (digits + 1))
      const of = (count: number) => free({ it: { a: Array(count).fill(number) } }).issues
      expect(of(most)).toEqual([])
      expect(of(most + 1)).toMatchObject([{ loc: ['body', 'it'], type: 'value_error' }])
      expect(of(most + 1)[0]?.msg).toMatch(/64 KiB/)
    },
  )

  test('reports the path of every text in a free-form object that PostgreSQL cannot store', () => {
    const free = compileCheck(Type.Object({ it: FreeForm }), 'body')
    const { issues } = free({ it: { a: ['ok', '\0'], '\ud800': 1 } })
    expect(issues).toEqual(
      [
        ['body', 'it', 'a', '1'],
        ['body', 'it', '[key]'],
      ].map((loc) => ({
        loc,
        type: 'value_error',
        msg: 'Value error, text must not contain NUL characters or lone surrogates',
      })),
    )
  })

  test('reports only one issue for a text that PostgreSQL cannot store', () => {
    const name = compileCheck(Type.Object({ it: Name }), 'body')
    expect(name({ it: '\0'.repeat(201) }).issues).toMatchObject([{ type: 'value_error' }])
  })
})

describe('dates and times', () => {
  test.each([
    '2026-11-21',
    '2024-02-29',
    '2026-11-21T08:30:00Z',
    '2026-11-21 08:30',
    '2026-11-21T08:30:00.123456+02:00',
  ])('accepts %s as a date or time', (text) => {
    expect(isDateOrTime(text)).toBe(true)
  })

  test.each([
    '',
    '2026',
    '2026-13-01',
    '2026-02-30',
    '2023-02-29',
    '2026-11-21T25:00:00Z',
    '2026-11-21T08:61:00Z',
    '21.11.2026',
    '2026-11-21T',
    '0000-01-01',
    'yesterday',
    '1700000000',
  ])('rejects "%s" as a date or time', (text) => {
    expect(isDateOrTime(text)).toBe(false)
  })
})

test('input validation replaces a tab in a name with a space', () => {
  const check = compileCheck(Type.Object({ name: Name }), 'body')
  expect(check({ name: '\tAnna\tLopez\t\tRuiz ' })).toEqual({
    value: { name: 'Anna Lopez Ruiz' },
    issues: [],
  })
})

test('input validation explains why invisible characters in a name are rejected', () => {
  const check = compileCheck(Type.Object({ name: Name }), 'body')
  expect(check({ name: 'Anna\u202eLopez' }).issues).toMatchObject([
    {
      type: 'string_pattern_mismatch',
      msg: 'String should be one line without invisible characters',
    },
  ])
})

test('input validation stops startup if a pattern has no error message', () => {
  expect(() =>
    compileCheck(Type.Object({ name: Type.String({ pattern: '^b$' }) }), 'body'),
  ).toThrow('has no sentence')
})
