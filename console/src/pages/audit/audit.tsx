import { useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { ApiError } from '../../api/problem.ts'
import type { Column } from '../../parts/data-table/index.ts'
import { Icon } from '../../parts/icon.tsx'
import {
  type ListState,
  useChangeSearch,
  useListState,
  useOpenRecord,
} from '../../parts/list/list-state.ts'
import { ListTable } from '../../parts/list/list-table.tsx'
import { readParameters } from '../../parts/list/parameters.ts'
import { PageHead } from '../../parts/page-head.tsx'
import { Empty, NothingFound } from '../../parts/states.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { formatFullTime, formatSecond } from '../../words/dates.ts'
import { formatTotal } from '../../words/numbers.ts'
import { type ActionMeanings, useActionMeanings } from './action-meanings.ts'
import { auditTexts as texts } from './audit.texts.ts'
import { Chips, findPersonName } from './chips.tsx'
import { useEntries, useEntry, usePersonName } from './data.ts'
import { AbsentPanel, EntryPanel } from './entry-panel.tsx'
import { type AuditEntry, meaningOfEntry, recordOf, shortMeaning, whoOf } from './entry-words.ts'
import { FilterBar } from './filter-bar.tsx'
import { type AuditParameters, auditList, openedParameter, rangeParameters } from './filters.ts'
import { linkToEntry } from './links.ts'
import { type Arrivals, liveWords, useArrivals, useLiveSwitch } from './live.ts'
import { LogState } from './log-state.tsx'
import { useSpan, useSteadyPages } from './span.ts'
import './audit.css'

const ExportDialog = lazy(() => import('./export-dialog.tsx'))

const NO_ENTRIES: readonly AuditEntry[] = []

/** The page where people find out who did what. */
export function Page() {
  const clinicId = useClinicId()
  const list = useListState(auditList)
  const span = useSpan(list)
  const live = useLiveSwitch(list)
  const query = useEntries(list, span, live.isRunning)
  const rows = query.isPlaceholderData ? undefined : query.data?.items
  // Keeps the names of people while other entries load.
  const entries = query.data?.items ?? NO_ENTRIES
  const arrivals = useArrivals(live.isRunning, JSON.stringify([clinicId, list.filters, span]), rows)
  const steady = useSteadyPages(list, rows ?? NO_ENTRIES)
  const [isExporting, setExporting] = useState(false)
  useForgetBadCursor(list, query.error)
  const personId = list.filters.user_id
  const known = personId === undefined ? undefined : findPersonName(personId, entries)
  const loaded = usePersonName(personId, rows !== undefined && known === undefined)
  return (
    <>
      <PageHead
        title={texts.title}
        count={query.data && formatTotal(query.data)}
        actions={
          <>
            <button type="button" className="live" aria-pressed={live.isOn} onClick={live.toggle}>
              <span className="live-mark" />
              {texts.live.button}
            </button>
            <button type="button" onClick={() => setExporting(true)}>
              <Icon name="save" />
              {texts.export.open}
            </button>
          </>
        }
      />
      <LogState />
      <FilterBar list={list} personName={known ?? loaded} />
      <Chips list={list} entries={entries} />
      <p role="status" className={live.isOn ? 'live-words small muted' : 'hidden'}>
        {liveWords(live, arrivals)}
      </p>
      <Entries list={steady} query={query} arrivals={arrivals} />
      {isExporting && (
        <Suspense>
          <ExportDialog
            filters={list.filters}
            span={span}
            matching={rows && query.data}
            onClose={() => setExporting(false)}
          />
        </Suspense>
      )}
    </>
  )
}

interface EntriesProps {
  readonly list: ListState<AuditParameters>
  readonly query: ReturnType<typeof useEntries>
  readonly arrivals: Arrivals
}

/** The table of entries, and the panel of the open entry beside the table. */
function Entries({ list, query, arrivals }: EntriesProps) {
  const meanings = useActionMeanings()
  const rows = query.isPlaceholderData ? undefined : query.data?.items
  const open = useOpenEntry(rows)
  const what = (entry: AuditEntry) => shortMeaning(meaningOfEntry(entry, meanings.meaningOf))
  return (
    <div className="split audit">
      <ListTable
        list={list}
        query={query}
        caption={texts.title}
        columns={columnsWith(meanings, arrivals)}
        idOf={({ id }) => String(id)}
        nameOf={(row) =>
          texts.rowName(formatSecond(new Date(row.created_at), new Date()), what(row))
        }
        linkOf={linkToEntry}
        openId={open.id === undefined ? undefined : String(open.id)}
        empty={<NoEntries list={list} />}
      />
      {open.entry && <EntryPanel entry={open.entry} onClose={open.close} />}
      {open.isAbsent && open.id !== undefined && <AbsentPanel id={open.id} onClose={open.close} />}
    </div>
  )
}

/** Returns the columns. The first column marks entries that have just arrived. */
function columnsWith({ meaningOf }: ActionMeanings, arrivals: Arrivals): Column<AuditEntry>[] {
  return [
    {
      id: 'created_at',
      label: texts.columns.time,
      isSortable: true,
      rank: 1,
      render: ({ id, created_at }) => <EntryTime at={created_at} isNew={arrivals.ids.has(id)} />,
    },
    {
      id: 'who',
      label: texts.columns.who,
      rank: 1,
      render: (entry) => (
        <bdi className="entry-name" title={entry.user_email ?? undefined}>
          {whoOf(entry)}
        </bdi>
      ),
    },
    {
      id: 'what',
      label: texts.columns.what,
      rank: 1,
      render: (entry) => (
        <span className="entry-what" title={meaningOfEntry(entry, meaningOf)}>
          {shortMeaning(meaningOfEntry(entry, meaningOf))}
        </span>
      ),
    },
    {
      id: 'record',
      label: texts.columns.record,
      render: (entry) => <bdi className="entry-name">{recordOf(entry)}</bdi>,
    },
    {
      id: 'address',
      label: texts.columns.address,
      render: ({ ip }) => <span className="mono">{ip ?? commonTexts.none}</span>,
    },
  ]
}

function EntryTime({ at, isNew }: { at: string; isNew: boolean }) {
  const time = new Date(at)
  return (
    <time
      dateTime={at}
      title={formatFullTime(time)}
      className={isNew ? 'entry-time new' : 'entry-time'}
    >
      {isNew && <span className="hidden">{texts.live.isNew} </span>}
      {formatSecond(time, new Date())}
    </time>
  )
}

/** Explains an empty list and offers the next step. */
function NoEntries({ list }: { list: ListState<AuditParameters> }) {
  const { range: _range, from: _from, to: _to, at: _at, ...others } = list.filters
  if (Object.keys(others).length > 0)
    return <NothingFound onClear={list.clearFilters}>{texts.nothingFound}</NothingFound>
  return (
    <Empty
      title={texts.empty.title}
      action={
        <button type="button" onClick={() => list.setFilters(rangeParameters(undefined))}>
          {texts.empty.showAll}
        </button>
      }
    >
      {texts.empty.lead}
    </Empty>
  )
}

/** The open entry, with as much of its data as could be found. */
interface OpenEntry {
  readonly id: number | undefined
  readonly entry: AuditEntry | undefined
  readonly isAbsent: boolean
  readonly close: () => void
}

/**
 * Finds the open entry among the rows. If later entries have pushed it off the page, finds it by its time.
 * @param rows undefined while the rows load
 */
function useOpenEntry(rows: readonly AuditEntry[] | undefined): OpenEntry {
  const { id } = useOpenRecord()
  const change = useChangeSearch()
  const { opened } = readParameters(openedParameter, useSearch({ strict: false }))
  const row = rows?.find((one) => one.id === id)
  const isElsewhere = rows !== undefined && row === undefined
  const kept = useKept(id, row)
  const found = useEntry(id, opened, isElsewhere && !kept)
  const entry = row ?? kept ?? found.data ?? undefined
  return {
    id,
    entry,
    isAbsent: isElsewhere && !entry && !found.isLoading,
    close: () => change({ open: undefined, tab: undefined, opened: undefined }),
  }
}

/** Returns the open entry as it was last seen among the rows, even if the rows have changed since then. */
function useKept(id: number | undefined, row: AuditEntry | undefined): AuditEntry | undefined {
  const clinicId = useClinicId()
  const [kept, setKept] = useState<{ clinicId: number; entry: AuditEntry }>()
  if (row && (kept?.entry !== row || kept.clinicId !== clinicId)) setKept({ clinicId, entry: row })
  return kept?.clinicId === clinicId && kept.entry.id === id ? kept.entry : undefined
}

/** Returns to the first page if the cursor in the URL does not belong to this list. */
function useForgetBadCursor(list: ListState<AuditParameters>, error: unknown): void {
  const change = useChangeSearch()
  const isBad =
    list.position.after !== undefined && error instanceof ApiError && error.status === 422
  useEffect(() => {
    if (isBad) change({ after: undefined, at: undefined }, { replace: true })
  })
}
