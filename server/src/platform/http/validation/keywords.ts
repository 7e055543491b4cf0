/** Validator keywords that JSON Schema does not have, and the formats of text. */
import { Ajv } from 'ajv'
import type { DataValidationCxt, SchemaValidateFunction } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'
import { isInternationalEmail, withAsciiDomain } from '../../../lib/email.ts'
import { withoutDirections, withoutQuotes } from '../../../lib/pasted.ts'
import { inspect, isStorable } from '../../../lib/text.ts'

/**
 * Maximum depth and size of a free-form object. The size is that of its JSON with numbers in plain digits, which each
 * read returns. PostgreSQL adds only a space after each comma and colon.
 */
const FREE_FORM_DEPTH = 32
const FREE_FORM_BYTES = 64 * 1024
const NOT_FINITE = 'numbers must fit into 64-bit floating point'
const TOO_LARGE = `the object must have at most ${FREE_FORM_BYTES / 1024} KiB and ${FREE_FORM_DEPTH} levels`

const DATE = /^\d{4}-\d{2}-\d{2}$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/i

const EARLIEST = Date.parse('0001-01-01T00:00:00Z')

/** Returns true if the text is a date, or a date and time, that exists in the calendar. */
export function isDateOrTime(text: string): boolean {
  if (!DATE.test(text) && !DATE_TIME.test(text)) return false
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  // Date converts 30 February to a day in March, so its text would differ from the input.
  if (!(day.getTime() >= EARLIEST) || day.toISOString().slice(0, 10) !== text.slice(0, 10))
    return false
  return !Number.isNaN(Date.parse(text.replace(' ', 'T')))
}

/** Creates a validator that reports every issue, fills in defaults and trims text, also tabs from spreadsheets. */
export function makeAjv(): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    removeAdditional: true,
    strict: false,
    allowUnionTypes: true,
  })
  // ajv-formats is a CommonJS module. Its types do not show that the import is the function itself.
  ;(addFormats as unknown as (ajv: Ajv) => void)(ajv)
  ajv.addFormat('date-or-time', isDateOrTime)
  // Parses URLs as browsers do. ajv-formats would follow RFC 3986, which does not allow "bücher.example".
  ajv.addFormat('idn-email', isInternationalEmail)
  ajv.addFormat('uri', (text: string) => URL.canParse(text))
  addChange(ajv, 'trim', (text) => text.replaceAll(/\t+/g, ' ').trim().normalize('NFC'))
  addChange(ajv, 'undirected', withoutDirections)
  addChange(ajv, 'unquoted', withoutQuotes)
  addChange(ajv, 'asciiDomain', withAsciiDomain)
  ajv.addKeyword({
    keyword: 'storable',
    type: 'string',
    validate: (_on: boolean, text: string) => isStorable(text),
  })
  ajv.addKeyword({
    keyword: 'eachOf',
    type: 'array',
    error: { message: 'the list must contain known values only, each at most once' },
    // Reports one issue for the whole list. One per item could make the response longer than the request.
    validate: (words: string[], value: unknown[]) =>
      value.length <= words.length &&
      new Set(value).size === value.length &&
      value.every((item) => words.includes(item as string)),
  })
  ajv.addKeyword({
    keyword: 'noneOf',
    type: 'string',
    error: { message: 'this name is reserved. Choose another one' },
    validate: (words: readonly string[], text: string) => !words.includes(text),
  })
  ajv.addKeyword({ keyword: 'freeForm', type: 'object', validate: judgeFreeForm })
  return ajv
}

/** Adds a keyword that changes a string in place. The change runs before the length of the string is checked. */
function addChange(ajv: Ajv, keyword: string, change: (text: string) => string): void {
  ajv.addKeyword({
    keyword,
    type: 'string',
    before: 'maxLength',
    modifying: true,
    errors: false,
    validate(on: boolean, text: string, _schema: unknown, at?: DataValidationCxt): boolean {
      if (on && at) at.parentData[at.parentDataProperty] = change(text)
      return true
    },
  })
}

const judgeFreeForm: SchemaValidateFunction = (_on: boolean, value: object) => {
  const { isTooDeep, isBeyondNumbers, unstorable, digitsBeyondJson } = inspect(
    value,
    FREE_FORM_DEPTH,
  )
  const isTooLarge =
    isTooDeep || Buffer.byteLength(JSON.stringify(value)) + digitsBeyondJson > FREE_FORM_BYTES
  judgeFreeForm.errors = [
    ...(isTooLarge ? [{ keyword: 'freeForm', params: {}, message: TOO_LARGE }] : []),
    ...(isBeyondNumbers ? [{ keyword: 'freeForm', params: {}, message: NOT_FINITE }] : []),
    ...unstorable.map((path) => ({ keyword: 'storable', params: { path } })),
  ]
  return judgeFreeForm.errors.length === 0
}
