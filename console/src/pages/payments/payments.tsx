import { Link } from '@tanstack/react-router'
import { Ago } from '../../parts/ago.tsx'
import { StatsOnDemand } from '../../parts/chart/stats-chart.tsx'
import { ChoiceFilter } from '../../parts/choice-filter.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { ListFilters } from '../../parts/list/list-filters.tsx'
import { type ListState, useListState } from '../../parts/list/list-state.ts'
import { RecordList } from '../../parts/list/record-list.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatMoney } from '../../words/money.ts'
import { formatTotal } from '../../words/numbers.ts'
import { statusWord } from '../../words/statuses.ts'
import { useClinicColumn } from './clinic-column.tsx'
import {
  PAYMENT_STATUSES,
  type Payment,
  type PaymentParameters,
  PROVIDERS,
  paymentList,
  useIsOfAllClinics,
  usePayments,
} from './data.ts'
import { Figures } from './figures.tsx'
import { PaymentPanel } from './payment-panel.tsx'
import { providerNames, paymentsTexts as texts } from './payments.texts.ts'
import { SpanFilter } from './span-filter.tsx'
import './payments.css'

const columns: readonly Column<Payment>[] = [
  {
    id: 'payment',
    label: texts.payment,
    render: ({ provider_payment_id: id }) => <bdi className="payment-id mono">{id}</bdi>,
    rank: 1,
  },
  {
    id: 'provider',
    label: texts.provider,
    render: ({ provider }) => providerNames[provider] ?? provider,
  },
  {
    id: 'status',
    label: texts.status,
    render: ({ status }) => <StatusBadge kind="payment" state={status} />,
    rank: 1,
  },
  { id: 'amount', label: texts.amount, render: formatMoney, isNumber: true },
  {
    id: 'created_at',
    label: texts.created,
    render: ({ created_at }) => <Ago at={created_at} />,
    isSortable: true,
  },
]

/** The payments of a clinic, or of all clinics on the platform's page, with figures and the panel of the open payment. */
export function Page() {
  const list = useListState(paymentList)
  const query = usePayments(list)
  const isOfAll = useIsOfAllClinics()
  const shown = useClinicColumn(columns, isOfAll)
  const title = isOfAll ? texts.allTitle : texts.title
  const person = usePersonHere()
  const inbox = addressOf({ path: '/payments/notifications' }, person, useClinicId())
  return (
    <>
      <PageHead
        title={title}
        count={query.data && formatTotal(query.data)}
        actions={
          <Link to={inbox} className="button">
            {texts.notifications}
          </Link>
        }
      />
      <Figures list={list} />
      {/* The chart has the figures of one clinic. */}
      {!isOfAll && (
        <StatsOnDemand
          title={texts.chart}
          kind="bars"
          series={['payments_succeeded', 'payments_failed', 'payments_refunded']}
        />
      )}
      <Filters list={list} />
      <SpanFilter list={list} />
      <RecordList
        className="payments"
        caption={title}
        columns={shown}
        list={list}
        query={query}
        nameOf={({ provider_payment_id }) => provider_payment_id}
        nothingFound={texts.nothingFound}
        empty={<Empty title={texts.emptyTitle}>{texts.empty}</Empty>}
        panel={(open) => <PaymentPanel {...open} />}
      />
    </>
  )
}

function Filters({ list }: { list: ListState<PaymentParameters> }) {
  const { search = '', provider, status } = list.filters
  return (
    <ListFilters list={list}>
      <SearchField
        label={texts.search}
        value={search}
        onSearch={(text) => list.setFilters({ search: text.trim() })}
      />
      <ChoiceFilter
        label={texts.provider}
        any={texts.anyProvider}
        value={provider}
        choices={PROVIDERS.map((choice) => [choice, providerNames[choice] ?? choice])}
        onChoose={(choice) => list.setFilters({ provider: choice })}
      />
      <ChoiceFilter
        label={texts.status}
        any={texts.anyStatus}
        value={status}
        choices={PAYMENT_STATUSES.map((choice) => [choice, statusWord('payment', choice).word])}
        onChoose={(choice) => list.setFilters({ status: choice })}
      />
    </ListFilters>
  )
}
