import { useState } from 'react'
import { fieldId, useForm } from '../../parts/form-context.ts'
import { QueryState } from '../../parts/query-state.tsx'
import { useWebhookEvents, type WebhookEvent } from './data.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.form
const ALL = '*'

interface EventChoice {
  readonly events: string[]
  readonly has: (name: string) => boolean
  readonly toggle: (name: string) => void
}

/** The chosen events, groups of events, or all events. */
export function useEventChoice(initial: readonly string[]): EventChoice {
  const [events, setEvents] = useState([...initial])
  return {
    events,
    has: (name) => events.includes(name),
    toggle: (name) =>
      setEvents(events.includes(name) ? events.filter((one) => one !== name) : [...events, name]),
  }
}

const groupOf = (name: string) => name.slice(0, name.indexOf('.'))

/** Chooses events in groups, each with an example of its message. */
export function EventPicker({ choice }: { choice: EventChoice }) {
  const query = useWebhookEvents()
  return (
    <fieldset className="event-picker stack tight">
      <legend>{texts.groups}</legend>
      <Choice name={ALL} label={texts.all} choice={choice} />
      <ChosenEvents events={choice.events} />
      {!choice.has(ALL) && (
        <QueryState query={query}>
          {(events) =>
            [...Map.groupBy(events, ({ name }) => groupOf(name))].map(([group, members]) => (
              <EventGroup key={group} group={group} events={members} choice={choice} />
            ))
          }
        </QueryState>
      )}
    </fieldset>
  )
}

/** The field of the form that contains the choice, with its fault. */
function ChosenEvents({ events }: { events: readonly string[] }) {
  const form = useForm()
  const id = fieldId(form.id, 'events')
  const fault = form.faultOf('events')
  return (
    <>
      <input
        id={id}
        name="events"
        className="hidden"
        tabIndex={-1}
        aria-label={texts.groups}
        aria-invalid={fault === undefined ? undefined : true}
        aria-describedby={fault === undefined ? undefined : `${id}-fault`}
        value={events.join(' ')}
        onChange={() => undefined}
        required
        data-missing={texts.eventsMissing}
      />
      {fault !== undefined && (
        <p id={`${id}-fault`} className="form-fault">
          {fault}
        </p>
      )}
    </>
  )
}

interface EventGroupProps {
  readonly group: string
  readonly events: readonly WebhookEvent[]
  readonly choice: EventChoice
}

function EventGroup({ group, events, choice }: EventGroupProps) {
  const whole = `${group}.*`
  // A group with chosen events is open at first. Afterwards only the user opens and closes it.
  const [isOpenFirst] = useState(
    () => choice.has(whole) || events.some(({ name }) => choice.has(name)),
  )
  return (
    <details open={isOpenFirst}>
      <summary>{group}</summary>
      <div className="stack tight">
        {group !== 'webhook' && <Choice name={whole} label={texts.group(group)} choice={choice} />}
        {events.map((event) => (
          <div key={event.name} className="event-choice">
            {!choice.has(whole) && (
              <Choice
                name={event.name}
                label={event.name}
                detail={event.description}
                choice={choice}
              />
            )}
            <Example event={event} />
          </div>
        ))}
      </div>
    </details>
  )
}

function Example({ event: { name, example } }: { event: WebhookEvent }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small">{texts.example(name)}</summary>
      {isOpen && <pre className="mono code">{JSON.stringify(example, null, 2)}</pre>}
    </details>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly label: string
  readonly detail?: string
  readonly choice: EventChoice
}

function Choice({ name, label, detail, choice }: ChoiceProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={choice.has(name)} onChange={() => choice.toggle(name)} />
      <span>
        {label}
        {detail && <span className="muted small"> {detail}</span>}
      </span>
    </label>
  )
}
