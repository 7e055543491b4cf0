import { type FormEvent, useState } from 'react'
import { timeZoneName } from '../words/dates.ts'
import { timeRangeTexts as texts } from './time-range.texts.ts'
import {
  boundsOf,
  hasWholeDays,
  RECENT_RANGES,
  type RecentRange,
  type TimeRangeValue,
  toInputTime,
} from './time-ranges.ts'
import './time-range.css'

interface TimeRangeProps {
  /** The chosen range. Undefined means all times. */
  readonly value: TimeRangeValue | undefined
  readonly onChange: (value: TimeRangeValue) => void
  /** If set, a button for all times is shown, and calls this function. */
  readonly onAll?: () => void
}

const recentRanges = Object.keys(RECENT_RANGES) as RecentRange[]

/** The range in the fields before the user has chosen one. */
const PROPOSED: TimeRangeValue = { range: '24h' }

/** Chooses a range that ends now or a custom range, and shows the time zone. */
export function TimeRange({ value, onChange, onAll }: TimeRangeProps) {
  const written = JSON.stringify(value ?? null)
  /** The value for which the fields were opened. A new value closes the fields. */
  const [openedAt, setOpenedAt] = useState<string>()
  const isOwn = openedAt === written || (value !== undefined && !('range' in value))
  const chosen = !isOwn && value && 'range' in value ? value.range : undefined
  return (
    <fieldset className="time-range stack tight">
      <legend className="hidden">{texts.label}</legend>
      <div className="row">
        <div className="segments">
          {recentRanges.map((range) => (
            <button
              key={range}
              type="button"
              aria-pressed={range === chosen}
              onClick={() => {
                setOpenedAt(undefined)
                onChange({ range })
              }}
            >
              {texts.recent[range]}
            </button>
          ))}
          {onAll && (
            <button
              type="button"
              aria-pressed={!isOwn && value === undefined}
              onClick={() => {
                setOpenedAt(undefined)
                onAll()
              }}
            >
              {texts.all}
            </button>
          )}
          <button type="button" aria-pressed={isOwn} onClick={() => setOpenedAt(written)}>
            {texts.own}
          </button>
        </div>
        <span className="muted small">
          {value && hasWholeDays(value) ? texts.wholeDays : texts.zone(timeZoneName())}
        </span>
      </div>
      {isOwn && <OwnRange value={value ?? PROPOSED} onChange={onChange} />}
    </fieldset>
  )
}

interface OwnRangeProps {
  readonly value: TimeRangeValue
  readonly onChange: (value: TimeRangeValue) => void
}

function OwnRange({ value, onChange }: OwnRangeProps) {
  const [fault, setFault] = useState<string>()
  const bounds = boundsOf(value, new Date())
  // A new value in the URL replaces the contents of the fields.
  const written = JSON.stringify(value)
  const apply = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const from = Date.parse(String(fields.get('from')))
    const to = Date.parse(String(fields.get('to')))
    const found = faultOf(from, to)
    setFault(found)
    if (!found) onChange({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })
  }
  return (
    <form onSubmit={apply} noValidate>
      <TimeField key={`from ${written}`} name="from" label={texts.from} initial={bounds.from} />
      <TimeField key={`to ${written}`} name="to" label={texts.to} initial={bounds.to} />
      <button type="submit">{texts.apply}</button>
      <span role="alert" className="row">
        {fault}
      </span>
    </form>
  )
}

function TimeField({ name, label, initial }: { name: string; label: string; initial: string }) {
  return (
    <label>
      <span className="small muted">{label}</span>
      <input type="datetime-local" name={name} defaultValue={toInputTime(initial)} />
    </label>
  )
}

function faultOf(from: number, to: number): string | undefined {
  if (Number.isNaN(from) || Number.isNaN(to)) return texts.missing
  return to <= from ? texts.order : undefined
}
