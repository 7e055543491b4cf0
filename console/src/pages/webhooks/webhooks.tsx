import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { StatsOnDemand } from '../../parts/chart/stats-chart.tsx'
import { type Column, DataTable } from '../../parts/data-table/index.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { Empty } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import { AddWebhook } from './add-webhook.tsx'
import { useWebhookStats, useWebhooks, type Webhook, type WebhookStats } from './data.ts'
import { HourBar } from './hour-bar.tsx'
import { OwnClinic } from './own-clinic.tsx'
import { webhookState } from './webhook-state.ts'
import { webhookTexts as texts } from './webhooks.texts.ts'
import './webhooks.css'

/** A webhook with its figures, which load separately. */
type Row = Webhook & { readonly stats: WebhookStats | undefined }

const columns: readonly Column<Row>[] = [
  {
    id: 'url',
    label: texts.address,
    render: ({ url }) => <bdi className="webhook-url">{url}</bdi>,
    rank: 1,
  },
  {
    id: 'state',
    label: texts.state,
    render: (webhook) => <StatusBadge kind="webhook" state={webhookState(webhook)} />,
    rank: 1,
  },
  {
    id: 'since',
    label: texts.since,
    render: ({ failing_since }) => <Ago at={failing_since} absent="–" />,
  },
  {
    id: 'day',
    label: texts.day,
    render: ({ stats }) => stats && <HourBar stats={stats} />,
  },
  { id: 'events', label: texts.events, render: ({ events }) => eventWords(events) },
]

function eventWords(events: readonly string[]): string {
  const [first = '', ...others] = events
  if (events.includes('*')) return texts.allEvents
  return others.length === 0 ? first : texts.moreEvents(first, others.length)
}

/** The list of the webhooks of the user's clinic. */
export function Page() {
  return (
    <OwnClinic>
      <WebhookList />
    </OwnClinic>
  )
}

function WebhookList() {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const query = useWebhooks(clinicId)
  const stats = useWebhookStats(clinicId)
  const address = (id: number) => addressOf({ path: `/webhooks/${id}` }, person, clinicId)
  const withStats = (webhook: Webhook): Row => ({
    ...webhook,
    stats: stats.data?.find(({ webhook_id }) => webhook_id === webhook.id),
  })
  const table = {
    caption: texts.title,
    columns,
    idOf: ({ id }: Row) => String(id),
    nameOf: ({ url }: Row) => url,
    linkOf: ({ id }: Row) => ({ to: address(id) }),
  }
  return (
    <>
      <PageHead
        title={texts.title}
        count={query.data && formatNumber(query.data.length)}
        actions={<AddButton address={address} />}
      />
      <StatsOnDemand
        title={texts.chart}
        kind="bars"
        series={['deliveries_delivered', 'deliveries_failed']}
      />
      <QueryState query={query} skeleton={<DataTable {...table} rows={undefined} empty={null} />}>
        {(webhooks) => (
          <DataTable
            {...table}
            rows={webhooks.map(withStats)}
            empty={<Empty title={texts.emptyTitle}>{texts.empty}</Empty>}
          />
        )}
      </QueryState>
    </>
  )
}

/** The button that adds a webhook and then opens its page. */
function AddButton({ address }: { address: (id: number) => string }) {
  const [isAdding, setAdding] = useState(false)
  const navigate = useNavigate()
  return (
    <>
      <button type="button" className="primary" onClick={() => setAdding(true)}>
        {texts.add}
      </button>
      {isAdding && (
        <AddWebhook
          onClose={() => setAdding(false)}
          onAdded={(id) => void navigate({ to: address(id) })}
        />
      )}
    </>
  )
}
