/** Shows the evidence of a finding in words. */
import { formatFullTime } from '../../words/dates.ts'
import { formatNumber } from '../../words/numbers.ts'
import { healingTexts } from './self-healing.texts.ts'

const words = healingTexts.values
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/

/** A field of the evidence: the value that the scan found, and the value that it should have. */
export interface EvidenceLine {
  readonly field: string
  readonly measured: string
  readonly expected: string
}

type Fields = Readonly<Record<string, unknown>>

/** The values of a finding, and the names of the people whose ids are among the values. */
export interface FindingFields {
  readonly measured: Fields
  readonly expected: Fields
  readonly people: Readonly<Record<string, string>>
}

/** Returns a line for each field that was measured or expected. Names people instead of their ids. */
export function evidenceLines({
  measured,
  expected,
  people,
}: FindingFields): readonly EvidenceLine[] {
  const names = new Set([...Object.keys(measured), ...Object.keys(expected)])
  return [...names].map((name) => ({
    field: fieldName(name),
    measured: Object.hasOwn(measured, name)
      ? (nameIn(people, name) ?? wordIn(name, measured[name]))
      : words.notMeasured,
    expected: Object.hasOwn(expected, name) ? wordIn(name, expected[name]) : words.anything,
  }))
}

const nameIn = (names: Readonly<Record<string, string>>, field: string) =>
  Object.hasOwn(names, field) ? names[field] : undefined

const fieldName = (name: string): string =>
  nameIn(healingTexts.fields, name) ?? name.replaceAll('_', ' ')

/** Returns a value in words. An id is shown without separators. */
function wordIn(field: string, value: unknown): string {
  const isId = field.endsWith('_id')
  if (!isId) return wordOf(value)
  if (value === null) return words.nobody
  return typeof value === 'number' ? words.id(value) : wordOf(value)
}

function wordOf(value: unknown): string {
  if (value === null || value === undefined) return words.none
  if (value === true) return words.yes
  if (value === false) return words.no
  if (typeof value === 'number') return formatNumber(value)
  if (typeof value === 'string') return TIME.test(value) ? formatFullTime(new Date(value)) : value
  if (Array.isArray(value)) return value.length === 0 ? words.none : value.map(wordOf).join(', ')
  return JSON.stringify(value)
}
