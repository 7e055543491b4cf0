import { useEffect, useId, useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { ChoiceFilter } from '../../parts/choice-filter.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { ListFilters } from '../../parts/list/list-filters.tsx'
import { type ListState, useListState } from '../../parts/list/list-state.ts'
import { RecordList } from '../../parts/list/record-list.tsx'
import { SearchCombobox } from '../../parts/search-combobox.tsx'
import { Empty } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { TimeRange } from '../../parts/time-range.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { statusWord } from '../../words/statuses.ts'
import { type Delivery, eventsRequest, useDeliveries, type WebhookDetails } from './data.ts'
import { DeliveryPanel } from './delivery-panel.tsx'
import {
  DELIVERY_STATES,
  type DeliveryParameters,
  deliveryList,
  deliveryRange,
  rangeParameters,
  STATUS_CLASSES,
} from './filters.ts'
import { ReplayButtons } from './replay-dialog.tsx'
import { resultWords } from './webhook-state.ts'
import { webhookTexts } from './webhooks.texts.ts'

const texts = webhookTexts.deliveries

const columns: readonly Column<Delivery>[] = [
  { id: 'event', label: texts.event, render: ({ event }) => event, rank: 1 },
  {
    id: 'status',
    label: texts.status,
    render: ({ status }) => <StatusBadge kind="delivery" state={status} />,
    rank: 1,
  },
  { id: 'answer', label: texts.answer, render: lastResult },
  {
    id: 'attempts',
    label: texts.attempts,
    render: ({ attempts_count }) => attempts_count,
    isNumber: true,
  },
  {
    id: 'message',
    label: texts.message,
    render: ({ message_id }) => <span className="mono small">{message_id}</span>,
  },
  { id: 'time', label: texts.time, render: ({ created_at }) => <Ago at={created_at} /> },
]

function lastResult({ attempts }: Delivery): string {
  const last = attempts.at(-1)
  return last ? resultWords(last) : ''
}

/** The deliveries of a webhook with their filters, and the panel of the open one. */
export function Deliveries({ webhook }: { webhook: WebhookDetails }) {
  const list = useListState(deliveryList)
  const query = useDeliveries(useClinicId(), webhook, list)
  return (
    <div className="stack">
      <ReplayButtons webhook={webhook} />
      <DeliveryFilters list={list} />
      <RecordList
        caption={texts.title}
        columns={columns}
        list={list}
        query={query}
        nameOf={({ message_id }) => message_id}
        nothingFound={texts.nothing}
        empty={<Empty title={texts.empty}>{texts.emptyBody}</Empty>}
        panel={(open) => <DeliveryPanel {...open} webhook={webhook} />}
      />
    </div>
  )
}

type DeliveryListState = ListState<DeliveryParameters>

function DeliveryFilters({ list }: { list: DeliveryListState }) {
  const { status, event, class: statusClass, message = '' } = list.filters
  return (
    <>
      <ListFilters list={list}>
        <ChoiceFilter
          label={texts.status}
          any={texts.anyStatus}
          value={status}
          choices={DELIVERY_STATES.map((state) => [state, statusWord('delivery', state).word])}
          onChoose={(state) => list.setFilters({ status: state })}
        />
        <ChoiceFilter
          label={texts.class}
          any={texts.anyClass}
          value={statusClass}
          choices={STATUS_CLASSES.map((one) => [one, texts.classes[one]])}
          onChoose={(one) => list.setFilters({ class: one })}
        />
        <SearchCombobox
          label={texts.event}
          noneLabel={texts.anyEvent}
          find={eventsRequest}
          chosen={event === undefined ? undefined : { value: event, label: event }}
          onChange={(chosen) => list.setFilters({ event: chosen?.value })}
        />
        <MessageFilter value={message} onChange={(id) => list.setFilters({ message: id })} />
      </ListFilters>
      <TimeRange
        value={deliveryRange(list.filters)}
        onChange={(value) => list.setFilters(rangeParameters(value))}
        onAll={() => list.setFilters(rangeParameters(undefined))}
      />
    </>
  )
}

interface MessageFilterProps {
  readonly value: string
  readonly onChange: (id: string) => void
}

/** The filter for a message id. It applies when the user presses Enter or leaves the field. */
function MessageFilter({ value, onChange }: MessageFilterProps) {
  const id = useId()
  const [text, setText] = useState(value)
  const [isFaulty, setFaulty] = useState(false)
  useEffect(() => setText(value), [value])
  const apply = () => {
    const wanted = text.trim()
    const isFault = wanted !== '' && !/^msg_[0-9a-z]+_[0-9a-z]+$/.test(wanted)
    setFaulty(isFault)
    if (!isFault && wanted !== value) onChange(wanted)
  }
  return (
    <span className="text-filter">
      <input
        aria-label={texts.message}
        aria-invalid={isFaulty || undefined}
        aria-describedby={isFaulty ? id : undefined}
        placeholder={texts.message}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => event.key === 'Enter' && apply()}
      />
      {isFaulty && (
        <span id={id} role="alert" className="small fault-text">
          {texts.messageFault}
        </span>
      )}
    </span>
  )
}
