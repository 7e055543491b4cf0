import { Link, useParams, useSearch } from '@tanstack/react-router'
import { ApiError } from '../../api/problem.ts'
import { useChangeSearch } from '../../parts/list/list-state.ts'
import { choiceParameter, readParameters } from '../../parts/list/parameters.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { Empty } from '../../parts/states.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { addressOf, readClinicId, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useWebhook, type WebhookDetails } from './data.ts'
import { Deliveries } from './deliveries.tsx'
import { OwnClinic } from './own-clinic.tsx'
import { Replays } from './replays.tsx'
import { WebhookActs } from './webhook-acts.tsx'
import { WebhookStatePart } from './webhook-summary.tsx'
import { webhookTexts as texts } from './webhooks.texts.ts'
import './webhooks.css'

/** The page of one webhook: its state, its deliveries and its replays. */
export function Page() {
  const { id = '' } = useParams({ strict: false }) as { id?: string }
  const webhookId = readClinicId(id)
  return (
    <OwnClinic>
      {webhookId === undefined ? <Unknown /> : <OneWebhook key={webhookId} id={webhookId} />}
    </OwnClinic>
  )
}

function OneWebhook({ id }: { id: number }) {
  const query = useWebhook(useClinicId(), id)
  if (query.error instanceof ApiError && query.error.status === 404) return <Unknown />
  const { data } = query
  return (
    <>
      <PageHead
        title={data ? hostOf(data) : texts.title}
        actions={data && <WebhookActs webhook={data} />}
      />
      <QueryState query={query}>
        {(webhook) => (
          <div className="stack">
            <WebhookStatePart webhook={webhook} />
            <Parts webhook={webhook} />
          </div>
        )}
      </QueryState>
    </>
  )
}

/** Returns the host of the receiver, as the title of the page. */
const hostOf = ({ url }: Pick<WebhookDetails, 'url'>): string => new URL(url).host

function Parts({ webhook }: { webhook: WebhookDetails }) {
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false })
  const change = useChangeSearch()
  const { view } = readParameters({ view: choiceParameter(['replays']) }, search)
  const tabs = [
    {
      id: 'deliveries',
      label: texts.deliveries.title,
      content: <Deliveries webhook={webhook} />,
    },
    { id: 'replays', label: texts.replays.title, content: <Replays webhook={webhook} /> },
  ]
  return (
    <div className="webhook-parts">
      <Tabs
        label={texts.title}
        tabs={tabs}
        selected={view ?? 'deliveries'}
        onSelect={(id) =>
          change({ view: id === 'replays' ? id : undefined, open: undefined }, { replace: true })
        }
      />
    </div>
  )
}

function Unknown() {
  const to = addressOf({ path: '/webhooks' }, usePersonHere(), useClinicId())
  return (
    <>
      <PageHead title={texts.unknownTitle} />
      <Empty
        title={texts.unknownTitle}
        action={
          <Link className="button" to={to}>
            {texts.back}
          </Link>
        }
      >
        {texts.unknown}
      </Empty>
    </>
  )
}
