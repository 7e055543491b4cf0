/** Schemas that many features share: ids, timestamps, names, nullable values and error bodies. */
import Type, { type Static, type TSchema } from 'typebox'
import { patterned } from './patterns.ts'

/** A record id: an integer from 1 to 2^53-1 (decisions §1). */
export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const described = <T extends TSchema>(schema: T, description: string): T => ({
  ...schema,
  description,
})

export const idOf = (noun: string, example: number) =>
  Type.Integer({ ...Id, description: `The id of the ${noun}.`, examples: [example] })

/** A timestamp in ISO 8601, in UTC with milliseconds and `Z`. The database returns timestamps in this format. */
export const Timestamp = Type.String({ format: 'date-time' })

/** Returns the schema of a value or an explicit null, in one list, so that error messages name the expected type. */
export function Nullable<T extends TSchema>(schema: T, options: object = {}) {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] }
  return Type.Unsafe<Static<T> | null>({
    ...rest,
    type: [type, 'null'],
    ...(values ? { enum: [...values, null] } : {}),
    ...options,
  })
}

/** A calendar day such as `2026-11-21`. */
export const CalendarDate = Type.String({ format: 'date' })

export function OneOf<const T extends readonly string[]>(values: T, options: object = {}) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })
}

/**
 * Returns the schema of trimmed text on one line, without invisible characters, because mails, lists and logs show it.
 * Allows joiners for Persian, Indic scripts and emoji. @param refused more characters, as in a RegExp class
 */
export const line = (maxLength: number, refused = '', options: object = {}) =>
  Type.String({
    minLength: 1,
    maxLength,
    trim: true,
    unquoted: true,
    ...patterned(
      `^(?:[^\\p{Cc}\\p{Cf}\\u2028\\u2029${refused}]|[\\u200c\\u200d])*$`,
      `be one line without invisible characters${refused === '' ? '' : ` or ${refused[0]}`}`,
    ),
    ...options,
  })

/** Returns the schema of a phone number or identifier: a `line` whose direction marks are removed. */
export const numberLine = (maxLength: number, refused = '', options: object = {}) =>
  line(maxLength, refused, { ...options, undirected: true })

/** The name of a person or thing: 1 to 200 characters after trimming (decisions §2). */
export const Name = line(200)

/** The address of an account, in ASCII. An international domain is converted to ASCII. */
export const EmailAddress = Type.String({
  format: 'email',
  maxLength: 254,
  trim: true,
  asciiDomain: true,
})

export const ContactAddress = Type.String({ format: 'idn-email', maxLength: 254, trim: true })

/** A new password of 8 to 128 characters. The password rules check it for refused words (decisions §3). */
export const NewPassword = Type.String({ minLength: 8, maxLength: 128 })

/** A free-form JSON object, limited in bytes and depth. */
export const FreeForm = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  freeForm: true,
})

export const ProblemBody = Type.Object(
  { detail: Type.String(), code: Type.String() },
  { $id: 'Problem', description: 'An error with a sentence for people and a code for programs.' },
)

export const InvalidBody = Type.Object(
  {
    detail: Type.Array(
      Type.Object({ loc: Type.Array(Type.String()), msg: Type.String(), type: Type.String() }),
    ),
  },
  { $id: 'InvalidInput', description: 'All errors in the input.' },
)
