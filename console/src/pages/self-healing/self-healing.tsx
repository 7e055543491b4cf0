import { Link } from '@tanstack/react-router'
import { Ago } from '../../parts/ago.tsx'
import { ChoiceFilter } from '../../parts/choice-filter.tsx'
import { type Column, DataTable, rowLinkId } from '../../parts/data-table/index.ts'
import { ListFilters } from '../../parts/list/list-filters.tsx'
import { linkToOpen, useListState, useOpenRecord } from '../../parts/list/list-state.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { Empty, NothingFound } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber, formatPercent } from '../../words/numbers.ts'
import { statusWord } from '../../words/statuses.ts'
import {
  type Fix,
  healingList,
  isOpen,
  lastRepaired,
  SEVERITIES,
  sortFixes,
  useFixes,
  useScanStats,
} from './data.ts'
import { FixPanel } from './fix-panel.tsx'
import { mendingOf } from './mending.ts'
import { ScanNow, ScanProgress } from './scan-now.tsx'
import { SeedChecks } from './seed-checks.tsx'
import { healingTexts as texts } from './self-healing.texts.ts'
import './self-healing.css'

const columns: readonly Column<Fix>[] = [
  { id: 'check', label: texts.check, render: ({ title }) => <bdi>{title}</bdi>, rank: 1 },
  {
    id: 'state',
    label: texts.state,
    render: ({ status }) => <StatusBadge kind="repair" state={status} />,
    rank: 1,
  },
  {
    id: 'severity',
    label: texts.severity,
    render: ({ severity }) => <StatusBadge kind="severity" state={severity} />,
  },
  {
    id: 'found',
    label: texts.found,
    render: ({ occurrences }) => formatNumber(occurrences),
    isNumber: true,
  },
  {
    id: 'last',
    label: texts.last,
    render: ({ last_detected_at }) => <Ago at={last_detected_at} />,
  },
  { id: 'mends', label: texts.mends, render: mendingOf },
]

/** The checks with their findings, and the panel of the open check. */
export function Page() {
  const isOperator = usePersonHere().role === 'superadmin'
  return (
    <>
      <PageHead
        title={texts.title}
        actions={
          isOperator && (
            <>
              <SeedChecks />
              <ScanNow />
            </>
          )
        }
      />
      {isOperator && <ScanProgress />}
      {isOperator && <LastScan />}
      <Checks />
    </>
  )
}

function LastScan() {
  const { data } = useScanStats()
  const history = addressOf({ path: '/audit' }, usePersonHere(), useClinicId())
  if (!data) return null
  const { last_scan, success_rate } = data
  return (
    <p className="muted last-scan">
      {last_scan ? (
        <>
          {texts.lastScan} <Ago at={last_scan.at} />, {texts.checks(last_scan.looked_at)}
          {last_scan.unknown > 0 && `, ${texts.failedChecks(last_scan.unknown)}`}.{' '}
        </>
      ) : (
        `${texts.noScan} `
      )}
      {success_rate !== null && `${texts.success(formatPercent(success_rate))} `}
      <Link to={history} search={{ group: ['self_healing'], range: 'all' }}>
        {texts.history}
      </Link>
    </p>
  )
}

/** The latest repair, so that a list without findings does not seem to say that none were found. */
function LastRepair({ fixes = [] }: { fixes: readonly Fix[] | undefined }) {
  const fix = lastRepaired(fixes)
  if (!fix) return null
  return (
    <>
      {texts.lastRepair(fix.title)} <Ago at={fix.applied_at} />.
    </>
  )
}

function Checks() {
  const isOperator = usePersonHere().role === 'superadmin'
  const list = useListState(healingList)
  const query = useFixes()
  const open = useOpenRecord()
  const openId = open.id === undefined ? undefined : String(open.id)
  const { show, severity } = list.filters
  const isShown = (fix: Fix) =>
    (show === 'all' || isOpen(fix)) && (severity === undefined || fix.severity === severity)
  const table = {
    caption: texts.title,
    columns,
    idOf: ({ id }: Fix) => String(id),
    nameOf: ({ title }: Fix) => title,
    linkOf: ({ id }: Fix) => linkToOpen(id),
    openId,
    empty:
      severity === undefined ? (
        <Empty title={texts.nothingTitle}>
          {isOperator ? texts.nothing : texts.nothingHere} <LastRepair fixes={query.data} />
        </Empty>
      ) : (
        <NothingFound onClear={list.clearFilters}>{texts.nothingFound}</NothingFound>
      ),
  }
  return (
    <>
      <ListFilters list={list}>
        <ChoiceFilter
          label={texts.show}
          any={texts.showOpen}
          value={show}
          choices={[['all', texts.showAll]]}
          onChoose={(choice) => list.setFilters({ show: choice })}
        />
        <ChoiceFilter
          label={texts.severity}
          any={texts.anySeverity}
          value={severity}
          choices={SEVERITIES.map((choice) => [choice, statusWord('severity', choice).word])}
          onChoose={(choice) => list.setFilters({ severity: choice })}
        />
      </ListFilters>
      <div className="split">
        <QueryState query={query} skeleton={<DataTable {...table} rows={undefined} />}>
          {(fixes) => (
            <>
              <DataTable {...table} rows={sortFixes(fixes).filter(isShown)} />
              {open.id !== undefined && (
                <FixPanel
                  key={openId}
                  fix={fixes.find(({ id }) => id === open.id)}
                  returnFocusTo={rowLinkId(String(open.id))}
                  onClose={open.close}
                />
              )}
            </>
          )}
        </QueryState>
      </div>
    </>
  )
}
