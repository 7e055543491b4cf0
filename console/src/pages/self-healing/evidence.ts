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

/** Returns a line for each field that was measured or expected. A field that is missing on one side is empty there. */
export function evidenceLines(measured: Fields, expected: Fields): readonly EvidenceLine[] {
  const names = new Set([...Object.keys(measured), ...Object.keys(expected)])
  return [...names].map((name) => ({
    field: name.replaceAll('_', ' '),
    measured: Object.hasOwn(measured, name) ? wordOf(measured[name]) : '',
    expected: Object.hasOwn(expected, name) ? wordOf(expected[name]) : '',
  }))
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
