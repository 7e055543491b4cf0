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
  readonly value: TimeRangeValue
  readonly onChange: (value: TimeRangeValue) => void
}

const recentRanges = Object.keys(RECENT_RANGES) as RecentRange[]

/** Chooses a range that ends now or one with two ends of its own, and names the time zone. */
export function TimeRange({ value, onChange }: TimeRangeProps) {
  const [isOwn, setOwn] = useState(!('range' in value))
  const chosen = isOwn || !('range' in value) ? undefined : value.range
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
                setOwn(false)
                onChange({ range })
              }}
            >
              {texts.recent[range]}
            </button>
          ))}
          <button type="button" aria-pressed={isOwn} onClick={() => setOwn(true)}>
            {texts.own}
          </button>
        </div>
        <span className="muted small">
          {hasWholeDays(value) ? texts.wholeDays : texts.zone(timeZoneName())}
        </span>
      </div>
      {isOwn && <OwnRange value={value} onChange={onChange} />}
    </fieldset>
  )
}

function OwnRange({ value, onChange }: TimeRangeProps) {
  const [fault, setFault] = useState<string>()
  const bounds = boundsOf(value, new Date())
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
      <TimeField name="from" label={texts.from} initial={bounds.from} />
      <TimeField name="to" label={texts.to} initial={bounds.to} />
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
