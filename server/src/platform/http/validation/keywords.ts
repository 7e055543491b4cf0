/** The validator's own words: what JSON Schema has none for, and what text may come in. */
import { Ajv } from 'ajv'
import type { DataValidationCxt, SchemaValidateFunction } from 'ajv/dist/types/index.js'
import addFormats from 'ajv-formats'
import { isInternationalEmail, withAsciiDomain } from '../../../lib/email.ts'
import { withoutDirections, withoutQuotes } from '../../../lib/pasted.ts'
import { inspect, isStorable } from '../../../lib/text.ts'

/**
 * A free-form object may be this deep and this long, as JSON with its numbers in plain digits: that is what
 * each read carries. Beyond it PostgreSQL writes only blanks, one behind each comma and colon.
 */
const FREE_FORM_DEPTH = 32
const FREE_FORM_BYTES = 64 * 1024
const NOT_FINITE = 'a free-form object has no numbers beyond 64-bit floating point'
const TOO_LARGE = `a free-form object of at most ${FREE_FORM_BYTES / 1024} KiB and ${FREE_FORM_DEPTH} levels is taken`

const DATE = /^\d{4}-\d{2}-\d{2}$/
const DATE_TIME = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$/i

const EARLIEST = Date.parse('0001-01-01T00:00:00Z')

/** A date, or a date and time, that exists on the calendar (`from_date`, `to_date`). */
export function isDateOrTime(text: string): boolean {
  if (!DATE.test(text) && !DATE_TIME.test(text)) return false
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  // Date rolls 30 February over into March; the text then differs.
  if (!(day.getTime() >= EARLIEST) || day.toISOString().slice(0, 10) !== text.slice(0, 10))
    return false
  return !Number.isNaN(Date.parse(text.replace(' ', 'T')))
}

/** Makes a validator that finds every issue, fills in defaults and trims; a tab, as spreadsheets paste it, is a blank. */
export function makeAjv(): Ajv {
  const ajv = new Ajv({
    allErrors: true,
    useDefaults: true,
    removeAdditional: true,
    strict: false,
    allowUnionTypes: true,
  })
  // ajv-formats is CommonJS; its types hide that the function itself is what is imported.
  ;(addFormats as unknown as (ajv: Ajv) => void)(ajv)
  ajv.addFormat('date-or-time', isDateOrTime)
  // As browsers and our own client read URLs: RFC 3986, which ajv-formats has, knows no "bücher.example".
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
    error: { message: 'a list of the known words is taken, each once' },
    // One issue for the whole list: one for each item would let a long list make a longer answer.
    validate: (words: string[], value: unknown[]) =>
      value.length <= words.length &&
      new Set(value).size === value.length &&
      value.every((item) => words.includes(item as string)),
  })
  ajv.addKeyword({
    keyword: 'noneOf',
    type: 'string',
    error: { message: 'this word is reserved; choose another' },
    validate: (words: readonly string[], text: string) => !words.includes(text),
  })
  ajv.addKeyword({ keyword: 'freeForm', type: 'object', validate: judgeFreeForm })
  return ajv
}

/** Adds a keyword that changes a string in place, before its length is looked at. */
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
