/** Generates values for a schema: valid values, nearly valid values, and values that an attacker would send. */
import fc, { type Arbitrary } from 'fast-check'
import type { Schema } from './document.ts'

/** IDs of existing records. Requests with such IDs pass the check that otherwise ends in 404. */
export interface Known {
  ids: number[]
  words: string[]
  /** Path parameters by name, for records that belong together. */
  named: Record<string, number | string>
}

const HOSTILE_TEXT = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udfff',
  '%',
  '%_\\',
  "' or '1'='1",
  "'; drop table users; --",
  '$1',
  '{{7*7}}',
  '../../etc/passwd',
  '<script>alert(1)</script>',
  'null',
  'NaN',
  '-0',
  '1e309',
  '0x10',
  '9007199254740993',
  '99999999999999999999',
  '2026-02-30',
  '0000-01-01',
  '9999-12-31',
  '9999-12-31T23:59:59+00:00',
  '0001-01-01T00:00:00+23:59',
  '2026-11-21T24:00:00Z',
  '٣٤٥',
  'ﬁ',
  'İ',
  '👩‍⚕️'.repeat(60),
  '\u202e\u200b\ufeff',
  'a'.repeat(300),
  '=cmd|calc',
  '__proto__',
  '1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  '9999999999999999.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
]

const deep = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { d: value }
  return value
}

const HOSTILE_VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  -(2 ** 63),
  [],
  {},
  [[]],
  [null],
  { $ne: null },
  { length: 3 },
  deep(20),
  deep(100),
  'a'.repeat(20_000),
  JSON.parse('{"__proto__": {"role": "superadmin"}, "a": 1}'),
  { constructor: { prototype: { is_active: true } } },
  { toString: 'x', valueOf: null, hasOwnProperty: 1 },
  { toJSON: 'x' },
]

export const hostile: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXT),
  fc.constantFrom(...HOSTILE_VALUES),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.jsonValue({ maxDepth: 4 }),
)

/** Hostile text for a path or a query. */
export const hostileText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXT.filter((text) => text.isWellFormed())),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.bigInt().map(String),
  fc.double().map(String),
)

/** Generates a value that matches the schema. */
export function valid(schema: Schema, known: Known): Arbitrary<unknown> {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  const value = validOf(type, schema, known)
  return Array.isArray(schema.type) ? fc.oneof(value, fc.constant(null)) : value
}

function validOf(type: string | undefined, schema: Schema, known: Known): Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (type === 'integer') return integer(schema, known)
  if (type === 'boolean') return fc.boolean()
  if (type === 'array') return fc.array(valid(schema.items ?? {}, known), { maxLength: 3 })
  if (type === 'object' && schema.properties) return validObject(schema, known)
  if (type === 'object') return fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
  return text(schema, known)
}

function integer({ minimum = 1, maximum = 1_000 }: Schema, { ids }: Known): Arbitrary<number> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...ids) },
    { weight: 1, arbitrary: fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31) }) },
    { weight: 1, arbitrary: fc.constantFrom(minimum, maximum) },
  )
}

function text(schema: Schema, { words }: Known): Arbitrary<string> {
  const { format, minLength = 0, maxLength = 60 } = schema
  if (format === 'email') return fc.emailAddress()
  // Nothing listens at this address, so no message leaves the test.
  if (format === 'uri')
    return fc.constantFrom('http://127.0.0.1:9/', 'http://127.0.0.1:9/hook?a=b#c', 'https://[::1]/')
  if (format === 'date-or-time')
    return fc.oneof(
      fc.constant(new Date().toISOString().slice(0, 10)),
      fc
        .date({ noInvalidDate: true, min: new Date('0001-01-01'), max: new Date('9999-12-31') })
        .map((date) => date.toISOString()),
    )
  if (schema.pattern) return fc.stringMatching(new RegExp(schema.pattern, 'u'))
  return fc.oneof(
    fc.constantFrom(...words),
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) }),
    fc.string({ minLength: maxLength, maxLength }),
  )
}

function validObject({ properties = {}, required = [] }: Schema, known: Known) {
  const fields = Object.entries(properties).map(([name, of]) => [name, valid(of, known)] as const)
  return fc.record(Object.fromEntries(fields), { requiredKeys: required })
}

/** Generates a body that is valid except for one wrong or extra field. */
export function nearlyValid(schema: Schema, known: Known): Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {})
  const extra = ['id', 'password_hash', 'is_platform', 'role', 'tenant_id', 'created_at', 'x']
  return fc
    .tuple(valid(schema, known), fc.constantFrom(...names, ...extra), hostile, fc.boolean())
    .map(([right, name, wrong, without]) => {
      const body = { ...(right as Record<string, unknown>) }
      if (without) delete body[name]
      else body[name] = wrong
      return body
    })
}
