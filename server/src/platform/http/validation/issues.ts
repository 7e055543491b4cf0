/** Translates validator errors to the issue types and messages of Pydantic v2 (decisions §1). */
import type { ErrorObject } from 'ajv'
import { patternSentence } from '../../../lib/patterns.ts'
import type { ValidationIssue } from '../../../lib/problems.ts'

/** The part of the request that contains an issue: the first element of its `loc`. */
export type RequestPart = 'body' | 'query' | 'path' | 'header'

type Said = Pick<ValidationIssue, 'type' | 'msg'>

const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`

const TYPE_ISSUES: Record<string, Said> = {
  string: { type: 'string_type', msg: 'Input should be a valid string' },
  integer: { type: 'int_type', msg: 'Input should be a valid integer' },
  number: { type: 'int_type', msg: 'Input should be a valid number' },
  boolean: { type: 'bool_type', msg: 'Input should be a valid boolean' },
  array: { type: 'list_type', msg: 'Input should be a valid list' },
  object: { type: 'dict_type', msg: 'Input should be a valid dictionary' },
}

const PARSING_ISSUES: Record<string, Said> = {
  integer: {
    type: 'int_parsing',
    msg: 'Input should be a valid integer, unable to parse string as an integer',
  },
  boolean: {
    type: 'bool_parsing',
    msg: 'Input should be a valid boolean, unable to interpret input',
  },
}

const FORMAT_ISSUES: Record<string, Said> = {
  email: { type: 'value_error', msg: 'value is not a valid email address' },
  'idn-email': { type: 'value_error', msg: 'value is not a valid email address' },
  date: {
    type: 'datetime_parsing',
    msg: 'Input should be a valid date of the calendar, such as 2026-11-21',
  },
  'date-time': { type: 'datetime_parsing', msg: 'Input should be a valid datetime' },
  'date-or-time': {
    type: 'datetime_parsing',
    msg: 'Input should be a valid date or datetime, such as 2026-11-21 or 2026-11-21T08:30:00Z',
  },
  uri: { type: 'url_parsing', msg: 'Input should be a valid URL' },
}

function sayType(wanted: string | string[], part: RequestPart): Said {
  const first =
    (Array.isArray(wanted) ? wanted.find((type) => type !== 'null') : wanted) ?? 'object'
  const fromText = part === 'body' ? undefined : PARSING_ISSUES[first]
  return fromText ?? TYPE_ISSUES[first] ?? { type: 'value_error', msg: 'Input is not valid' }
}

function sayEnum(values: unknown[]): Said {
  const words = values.filter((value) => value !== null).map((value) => `'${value}'`)
  const last = words.pop()
  return {
    type: 'enum',
    msg: `Input should be ${words.length > 0 ? `${words.join(', ')} or ` : ''}${last}`,
  }
}

function say(error: ErrorObject, part: RequestPart): Said {
  const { keyword, params } = error
  switch (keyword) {
    case 'required':
      return { type: 'missing', msg: 'Field required' }
    case 'type':
      return sayType(params.type, part)
    case 'minLength':
      return {
        type: 'string_too_short',
        msg: `String should have at least ${plural(params.limit, 'character')}`,
      }
    case 'maxLength':
      return {
        type: 'string_too_long',
        msg: `String should have at most ${plural(params.limit, 'character')}`,
      }
    case 'minItems':
      return {
        type: 'too_short',
        msg: `List should have at least ${plural(params.limit, 'item')} after validation`,
      }
    case 'maxItems':
      return {
        type: 'too_long',
        msg: `List should have at most ${plural(params.limit, 'item')} after validation`,
      }
    case 'pattern':
      return {
        type: 'string_pattern_mismatch',
        msg: patternSentence(String(params.pattern)),
      }
    case 'minimum':
      return {
        type: 'greater_than_equal',
        msg: `Input should be greater than or equal to ${params.limit}`,
      }
    case 'maximum':
      return {
        type: 'less_than_equal',
        msg: `Input should be less than or equal to ${params.limit}`,
      }
    case 'enum':
      return sayEnum(params.allowedValues)
    case 'storable':
      return {
        type: 'value_error',
        msg: 'Value error, text must not contain NUL characters or lone surrogates',
      }
    case 'format':
      return FORMAT_ISSUES[params.format] ?? { type: 'value_error', msg: 'Input is not valid' }
    default:
      return { type: 'value_error', msg: `Value error, ${error.message ?? 'not valid'}` }
  }
}

/** Returns one issue per validator error. A text that cannot be stored has no other issues. */
export function toIssues(errors: readonly ErrorObject[], part: RequestPart): ValidationIssue[] {
  const unstorable = new Set(
    errors.filter(isUnstorable).map((error) => locOf(error, part).join('/')),
  )
  return errors
    .filter(({ keyword }) => keyword !== 'if')
    .map((error) => ({ error, loc: locOf(error, part) }))
    .filter(({ error, loc }) => isUnstorable(error) || !unstorable.has(loc.join('/')))
    .map(({ error, loc }) => ({ loc, ...say(error, part) }))
}

const isUnstorable = ({ keyword }: ErrorObject) => keyword === 'storable'

function locOf({ instancePath, keyword, params }: ErrorObject, part: RequestPart): string[] {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') path.push(params.missingProperty)
  return [part, ...path, ...(params.path ?? [])]
}
