/** The figures of payments: which clinic pays through which provider, and what failed. */
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import type { ListState } from '../../parts/list/list-state.ts'
import { QueryState } from '../../parts/query-state.tsx'
import { addressOf } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import {
  type PAYMENT_STATUSES,
  type PaymentParameters,
  type PaymentStats,
  type ProviderFigures,
  useIsOfAllClinics,
  usePaymentStats,
} from './data.ts'
import { paymentsTexts, providerNames } from './payments.texts.ts'
import { spanOf, spanParameters } from './span.ts'

const texts = paymentsTexts.figures

/** The number of rows before the reader asks for all of them. */
const FEW = 6

type Status = (typeof PAYMENT_STATUSES)[number]

interface StatusColumn {
  readonly label: string
  readonly statuses: readonly Status[]
}

const statusColumns: readonly StatusColumn[] = [
  { label: texts.failed, statuses: ['failed'] },
  { label: texts.succeeded, statuses: ['succeeded'] },
  { label: texts.open, statuses: ['pending', 'authorized'] },
  { label: texts.canceled, statuses: ['canceled'] },
  { label: texts.refunded, statuses: ['partially_refunded', 'refunded'] },
]

/** The configured providers, and the table of figures: of every clinic on the pages of the platform. */
export function Figures({ list }: { list: ListState<PaymentParameters> }) {
  const query = usePaymentStats(list)
  const isWide = useIsOfAllClinics()
  const [isWhole, setWhole] = useState(false)
  const span = spanOf(list.filters)
  return (
    <section className="card payment-figures" aria-labelledby="figures">
      <header>
        <h2 id="figures">{isWide ? texts.allTitle : texts.title}</h2>
      </header>
      <QueryState query={query}>
        {({ items, max_per_tenant, providers }) => (
          <>
            <p className="card-body">{providersSentence(providers)}</p>
            <p className="card-body small muted">
              {texts.lead(span ? texts.chosen : texts.lastDays, max_per_tenant)}
            </p>
            {items.length === 0 ? (
              <p className="card-body muted">{texts.none}</p>
            ) : (
              <FigureTable
                items={isWhole ? items : items.slice(0, FEW)}
                isWide={isWide}
                search={spanParameters(span ?? { range: '30d' })}
              />
            )}
            {items.length > FEW && (
              <p className="card-body">
                <button type="button" className="link" onClick={() => setWhole(!isWhole)}>
                  {isWhole ? texts.showFewer : texts.showAll(items.length)}
                </button>
              </p>
            )}
          </>
        )}
      </QueryState>
    </section>
  )
}

/** Says which payment providers are configured. */
function providersSentence(providers: PaymentStats['providers']): string {
  const namesOf = (isConfigured: boolean) =>
    providers
      .filter(({ is_configured }) => is_configured === isConfigured)
      .map(({ provider }) => providerNames[provider] ?? provider)
  return texts.providers(namesOf(true), namesOf(false))
}

interface FigureTableProps {
  readonly items: readonly ProviderFigures[]
  /** True if the table contains every clinic. */
  readonly isWide: boolean
  /** The time range, for the links to the list. */
  readonly search: Readonly<Record<string, unknown>>
}

function FigureTable({ items, isWide, search }: FigureTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls a wide table
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a legend
    <div className="scroll" role="group" tabIndex={0} aria-labelledby="figures">
      <table className="plain-table">
        <caption className="hidden">{isWide ? texts.allTitle : texts.title}</caption>
        <thead>
          <tr>
            {isWide && <th scope="col">{paymentsTexts.clinic}</th>}
            <th scope="col">{paymentsTexts.provider}</th>
            {statusColumns.map(({ label }) => (
              <th key={label} scope="col" className="number">
                {label}
              </th>
            ))}
            <th scope="col" className="number">
              {texts.total}
            </th>
            <th scope="col">{texts.last}</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <FigureRow
              key={`${item.tenant_id} ${item.provider}`}
              item={item}
              isWide={isWide}
              search={search}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface FigureRowProps extends Pick<FigureTableProps, 'isWide' | 'search'> {
  readonly item: ProviderFigures
}

function FigureRow({ item, isWide, search }: FigureRowProps) {
  const { provider, tenant_name, by_status, total, last_at } = item
  const name = providerNames[provider] ?? provider
  return (
    <tr>
      {isWide && (
        <th scope="row">
          <bdi>{tenant_name}</bdi>
        </th>
      )}
      {isWide ? <td>{name}</td> : <th scope="row">{name}</th>}
      {statusColumns.map(({ label, statuses }) => (
        <td key={label} className="number">
          <StatusFigure
            item={item}
            label={label}
            statuses={statuses}
            count={statuses.reduce((sum, status) => sum + by_status[status], 0)}
            search={search}
          />
        </td>
      ))}
      <td className="number">{formatNumber(total)}</td>
      <td>
        <Ago at={last_at} />
      </td>
    </tr>
  )
}

interface StatusFigureProps extends StatusColumn, Pick<FigureTableProps, 'search'> {
  readonly item: ProviderFigures
  readonly count: number
}

/** A number that links to its payments, if one filter of the list finds them. */
function StatusFigure({ item, label, statuses, count, search }: StatusFigureProps) {
  const person = usePersonHere()
  const { tenant_id, tenant_name, provider } = item
  const [status] = statuses
  if (count === 0 || statuses.length > 1) return formatNumber(count)
  const name = providerNames[provider] ?? provider
  return (
    <Link
      to={addressOf({ path: '/payments' }, person, tenant_id)}
      search={{ ...search, provider, status }}
      className={status === 'failed' ? 'failed-figure' : undefined}
      aria-label={`${formatNumber(count)}, ${texts.show(label, name, tenant_name)}`}
    >
      {formatNumber(count)}
    </Link>
  )
}
