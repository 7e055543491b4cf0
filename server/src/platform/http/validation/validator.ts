/** Checks the parts of a request against their schemas and finds every issue at once. */
import type { ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import type { ValidationIssue } from '../../../lib/problems.ts'
import { onceEach } from '../once-each.ts'
import { checkedSchema } from './checked.ts'
import { coerceText } from './coerce.ts'
import { type Part, toIssues } from './issues.ts'
import { makeAjv } from './keywords.ts'

const ajv = makeAjv()

const validatorOf = onceEach<ValidateFunction>((checked) => ajv.compile(checked))

/** A part as it is kept, with its defaults, and its issues, none when it is right. */
export interface Checked {
  value: unknown
  issues: ValidationIssue[]
}

export type Check = (given: unknown) => Checked

export interface CheckOptions {
  /** True where null in an optional field means that it was left out, as in the body of a POST (decisions §1). */
  isNullAbsent?: boolean
}

/** Compiles the check of `part` of an operation's request. */
export function compileCheck(
  schema: TSchema,
  part: Part,
  { isNullAbsent = false }: CheckOptions = {},
): Check {
  const validatorOfPart = validatorOf(checkedSchema(schema as never))
  const { properties = {} } = schema as { properties?: Record<string, object> }
  const names = Object.keys(properties)
  return (given) => {
    const picked = pick(given, names)
    const value = isNullAbsent ? withoutNulls(picked, schema) : picked
    if (part !== 'body') coerceText(value as Record<string, unknown>, properties)
    const validate = validatorOfPart()
    return { value, issues: validate(value) ? [] : toIssues(validate.errors ?? [], part) }
  }
}

/** The declared fields of an object: the others are never looked at, however many they are. */
function pick(given: unknown, names: readonly string[]): unknown {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
  const picked: Record<string, unknown> = {}
  for (const name of names)
    if (Object.hasOwn(given, name)) picked[name] = (given as Record<string, unknown>)[name]
  return picked
}

interface Fields {
  properties?: Record<string, object>
  required?: readonly string[]
  items?: object
}

/** Returns the value without the nulls of optional fields, those of nested objects and lists included. */
function withoutNulls(given: unknown, schema: Fields): unknown {
  const { properties, required = [], items } = schema
  if (typeof given !== 'object' || given === null) return given
  if (Array.isArray(given)) return items ? given.map((item) => withoutNulls(item, items)) : given
  if (!properties) return given
  const isOptional = (name: string) =>
    !required.includes(name) || 'default' in (properties[name] ?? {})
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const inner = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (!inner) return [[name, value]]
      return value === null && isOptional(name) ? [] : [[name, withoutNulls(value, inner)]]
    }),
  )
}
