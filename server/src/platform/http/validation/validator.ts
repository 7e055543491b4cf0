/** Checks the parts of a request against their schemas and reports all issues together. */
import type { ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import type { ValidationIssue } from '../../../lib/problems.ts'
import { onceEach } from '../compile-once.ts'
import { checkedSchema } from './checked.ts'
import { coerceText } from './coerce.ts'
import { type RequestPart, toIssues } from './issues.ts'
import { makeAjv } from './keywords.ts'

const ajv = makeAjv()

const validatorOf = onceEach<ValidateFunction>((checked) => ajv.compile(checked))

/** The value of a validated part with its defaults, and its issues. A valid part has no issues. */
export interface Checked {
  value: unknown
  issues: ValidationIssue[]
}

export type InputCheck = (given: unknown) => Checked

export interface CheckOptions {
  /** True to treat null in an optional field as omitted, as in the body of a POST (decisions §1). */
  isNullAbsent?: boolean
}

/** Compiles the check for one part of an operation's requests. */
export function compileCheck(
  schema: TSchema,
  part: RequestPart,
  { isNullAbsent = false }: CheckOptions = {},
): InputCheck {
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

/** Returns only the declared fields of an object. Never reads other fields, however many there are. */
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

/** Returns the value without nulls in optional fields, including those in nested objects and lists. */
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
