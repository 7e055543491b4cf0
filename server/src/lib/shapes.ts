/** The shapes that many schemas share: ids, timestamps, names, nullable values, error bodies. */
import Type, { type Static, type TSchema } from 'typebox'
import { patterned } from './patterns.ts'

/** Record id: an integer 1…2^53-1 (decisions §1). */
export const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** The same schema with a description for its readers. */
export const described = <T extends TSchema>(schema: T, description: string): T => ({
  ...schema,
  description,
})

/** The id in a path: which record it names, and an example. */
export const idOf = (noun: string, example: number) =>
  Type.Integer({ ...Id, description: `The id of the ${noun}.`, examples: [example] })

/** ISO 8601 UTC with milliseconds and `Z`; rows already hold it as such text. */
export const Timestamp = Type.String({ format: 'date-time' })

/** A value or an explicit null. Kept as one type list, so that a fault names the type meant. */
export function Nullable<T extends TSchema>(schema: T, options: object = {}) {
  const { type, enum: values, ...rest } = schema as unknown as { type: string; enum?: unknown[] }
  return Type.Unsafe<Static<T> | null>({
    ...rest,
    type: [type, 'null'],
    ...(values ? { enum: [...values, null] } : {}),
    ...options,
  })
}

/** A day of the calendar, `2026-11-21`. */
export const CalendarDate = Type.String({ format: 'date' })

/** One of a fixed list of words. */
export function OneOf<const T extends readonly string[]>(values: T, options: object = {}) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })
}

/**
 * Text on one line, trimmed. What is seen is what is there: it stands in mails, lists and logs. Of the
 * invisible characters only those that join letters stay, as Persian, Indic scripts and emoji need them.
 * @param refused more characters that it may not have, as they stand in a pattern's brackets
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

/** A number or a code of a person, as `line`: direction marks around it are dropped. */
export const numberLine = (maxLength: number, refused = '', options: object = {}) =>
  line(maxLength, refused, { ...options, undirected: true })

/** A person's or thing's name: 1…200 characters once trimmed (decisions §2). */
export const Name = line(200)

/** The address of an account: in ASCII, with an international domain in its ASCII form. */
export const EmailAddress = Type.String({
  format: 'email',
  maxLength: 254,
  trim: true,
  asciiDomain: true,
})

/** The address of a person who has no account. */
export const ContactAddress = Type.String({ format: 'idn-email', maxLength: 254, trim: true })

/** 8…128 characters; the words it may not be are checked by the password rules (decisions §3). */
export const NewPassword = Type.String({ minLength: 8, maxLength: 128 })

/** A free-form JSON object, bounded in bytes and depth. */
export const FreeForm = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  freeForm: true,
})

export const ProblemBody = Type.Object(
  { detail: Type.String(), code: Type.String() },
  { $id: 'Problem', description: 'A refusal: a sentence for people and a code for programs' },
)

export const InvalidBody = Type.Object(
  {
    detail: Type.Array(
      Type.Object({ loc: Type.Array(Type.String()), msg: Type.String(), type: Type.String() }),
    ),
  },
  { $id: 'InvalidInput', description: 'Every fault of the input' },
)
