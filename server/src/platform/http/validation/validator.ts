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

/** Compiles the check of `part` of an operation's request. */
export function compileCheck(schema: TSchema, part: Part): Check {
  const validatorOfPart = validatorOf(checkedSchema(schema as never))
  const { properties = {} } = schema as { properties?: Record<string, object> }
  const names = Object.keys(properties)
  return (given) => {
    const value = pick(given, names)
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
