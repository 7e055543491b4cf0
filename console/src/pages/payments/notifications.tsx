import { Link } from '@tanstack/react-router'
import { Ago } from '../../parts/ago.tsx'
import { ChoiceFilter } from '../../parts/choice-filter.tsx'
import { ConfirmedAct } from '../../parts/confirmed-act.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { ListFilters } from '../../parts/list/list-filters.tsx'
import { type ListState, useListState } from '../../parts/list/list-state.ts'
import { RecordList } from '../../parts/list/record-list.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { Empty } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatTotal } from '../../words/numbers.ts'
import { statusWord } from '../../words/statuses.ts'
import { useClinicColumn } from './clinic-column.tsx'
import { PROVIDERS, useIsOfAllClinics } from './data.ts'
import {
  NOTIFICATION_STATES,
  type NotificationParameters,
  notificationList,
  type PaymentNotification,
  REASONS,
  useNotificationCommands,
  useNotifications,
} from './notification-data.ts'
import { NotificationPanel } from './notification-panel.tsx'
import { reasonNames, notificationsTexts as texts } from './notifications.texts.ts'
import { providerNames } from './payments.texts.ts'
import { SpanFilter } from './span-filter.tsx'
import './payments.css'

const columns: readonly Column<PaymentNotification>[] = [
  {
    id: 'type',
    label: texts.type,
    render: ({ type }) => <bdi className="payment-id mono">{type}</bdi>,
    rank: 1,
  },
  {
    id: 'state',
    label: texts.state,
    render: ({ state }) => <StatusBadge kind="notification" state={state} />,
    rank: 1,
  },
  {
    id: 'reason',
    label: texts.reason,
    render: ({ reason }) => reason && (reasonNames[reason] ?? reason),
  },
  {
    id: 'provider',
    label: texts.provider,
    render: ({ provider }) => providerNames[provider] ?? provider,
  },
  {
    id: 'received_at',
    label: texts.received,
    render: ({ received_at }) => <Ago at={received_at} />,
    isSortable: true,
  },
]

/** The notifications of payment providers, with the panel of the open notification. */
export function Page() {
  const list = useListState(notificationList)
  const query = useNotifications(list)
  const person = usePersonHere()
  const isOfAll = useIsOfAllClinics()
  const shown = useClinicColumn(columns, isOfAll || list.filters.of === 'all')
  const title = isOfAll ? texts.allTitle : texts.title
  const payments = addressOf({ path: '/payments' }, person, useClinicId())
  return (
    <>
      <PageHead
        title={title}
        count={query.data && formatTotal(query.data)}
        actions={
          <>
            <Link to={payments} className="button">
              {texts.payments}
            </Link>
            {person.role === 'superadmin' && <Discard />}
          </>
        }
      />
      <Filters list={list} isWide={person.role === 'superadmin' && !isOfAll} />
      <SpanFilter list={list} />
      <RecordList
        className="payments"
        caption={title}
        columns={shown}
        list={list}
        query={query}
        nameOf={({ type }) => type}
        nothingFound={texts.nothingFound}
        empty={<Empty title={texts.emptyTitle}>{texts.empty}</Empty>}
        panel={({ id, ...open }) =>
          query.data && (
            <NotificationPanel
              {...open}
              notification={query.data.items.find((one) => one.id === id)}
            />
          )
        }
      />
    </>
  )
}

interface FiltersProps {
  readonly list: ListState<NotificationParameters>
  /** True if the reader may choose between the notifications of one clinic and of every clinic. */
  readonly isWide: boolean
}

function Filters({ list, isWide }: FiltersProps) {
  const { provider, state, reason, of } = list.filters
  return (
    <ListFilters list={list}>
      {isWide && (
        <ChoiceFilter
          label={texts.of}
          any={texts.ofClinic}
          value={of}
          choices={[['all', texts.ofAll]]}
          onChoose={(choice) => list.setFilters({ of: choice })}
        />
      )}
      <ChoiceFilter
        label={texts.state}
        any={texts.anyState}
        value={state}
        choices={NOTIFICATION_STATES.map((one) => [one, statusWord('notification', one).word])}
        onChoose={(choice) => list.setFilters({ state: choice })}
      />
      <ChoiceFilter
        label={texts.provider}
        any={texts.anyProvider}
        value={provider}
        choices={PROVIDERS.map((choice) => [choice, providerNames[choice] ?? choice])}
        onChoose={(choice) => list.setFilters({ provider: choice })}
      />
      <ChoiceFilter
        label={texts.reason}
        any={texts.anyReason}
        value={reason}
        choices={REASONS.map((choice) => [choice, reasonNames[choice]])}
        onChoose={(choice) => list.setFilters({ reason: choice })}
      />
    </ListFilters>
  )
}

/** Deletes the unverified notifications after a confirmation. */
function Discard() {
  const { discard } = useNotificationCommands()
  const words = texts.discard
  return (
    <ConfirmedAct
      open={words.open}
      title={words.title}
      className="danger"
      act={async () => words.done(await discard())}
    >
      <p>{words.body}</p>
    </ConfirmedAct>
  )
}
