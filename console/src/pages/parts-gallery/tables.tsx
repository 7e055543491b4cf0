import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { Avatar } from '../../parts/avatar.tsx'
import { Combobox } from '../../parts/combobox.tsx'
import {
  type Column,
  DataTable,
  EMPTY_SELECTION,
  type ListPosition,
  rowLinkId,
  type Selection,
  type Sort,
} from '../../parts/data-table/index.ts'
import { Panel } from '../../parts/panel.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { NothingFound } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { Tabs } from '../../parts/tabs.tsx'
import { showToast } from '../../parts/toasts.ts'
import { type MadeUpPerson, PEOPLE_TOTAL, people } from './made-up.ts'
import { Section } from './section.tsx'

const columns: readonly Column<MadeUpPerson>[] = [
  { id: 'name', label: 'Name', render: ({ name }) => name, isSortable: true, rank: 1 },
  { id: 'email', label: 'E-mail', render: ({ email }) => email },
  { id: 'role', label: 'Role', render: ({ role }) => role, isSortable: true, rank: 1 },
  { id: 'department', label: 'Department', render: ({ department }) => department },
  {
    id: 'status',
    label: 'Status',
    render: ({ status }) => <StatusBadge kind="user" state={status} />,
    rank: 1,
  },
  { id: 'seen', label: 'Last sign-in', render: ({ lastSignIn }) => <Ago at={lastSignIn} /> },
]

const departments = [
  { value: '', label: 'Any department' },
  ...[...new Set(people.map(({ department }) => department))].map((name) => ({
    value: name,
    label: name,
  })),
]

/** A table with filters, selection, pages and a panel, as pages use it. */
export function TableSection() {
  const list = useMadeUpList()
  const [selection, setSelection] = useState<Selection>(EMPTY_SELECTION)
  const open = usePanelId()
  const person = people.find(({ id }) => id === open.id)
  return (
    <Section title="DataTable, SearchField, Combobox, Panel, Tabs">
      <form className="filters" onSubmit={(event) => event.preventDefault()}>
        <SearchField label="Name or e-mail" value={list.text} onSearch={list.search} />
        <Combobox
          label="Department"
          options={departments}
          value={list.department}
          onChange={list.setDepartment}
        />
      </form>
      <div className="split">
        <DataTable
          caption="People"
          columns={columns}
          rows={list.rows}
          idOf={({ id }) => id}
          nameOf={({ name }) => name}
          linkOf={({ id }) => ({ to: '.', search: (current) => ({ ...current, open: id }) })}
          openId={person?.id}
          isFetching={list.isFetching}
          sort={list.sort}
          onSort={list.setSort}
          choosing={{
            selection,
            onChange: setSelection,
            actions: <button type="button">Block</button>,
          }}
          paging={list.paging}
          empty={
            <NothingFound onClear={() => list.search('')}>
              Search looks in names and e-mail addresses.
            </NothingFound>
          }
        />
        {person && <PersonPanel person={person} onClose={open.close} />}
      </div>
    </Section>
  )
}

/** The states of a table without rows to show. */
export function TableStatesSection() {
  const shared = {
    columns,
    idOf: ({ id }: MadeUpPerson) => id,
    nameOf: ({ name }: MadeUpPerson) => name,
    linkOf: () => ({ to: '.' }),
  }
  const position = { after: 'a-cursor' }
  const info = { page: 1, limit: 20, total: 41_200, total_estimated: true, next: 'another' }
  const ignore = () => undefined
  return (
    <>
      <Section title="DataTable: first load">
        <DataTable caption="People that load" rows={undefined} empty={null} {...shared} />
      </Section>
      <Section title="DataTable: after page 500, with an estimated total">
        <DataTable
          caption="People after a cursor"
          rows={people.slice(20, 23).map((person) => ({ ...person, id: `c${person.id}` }))}
          empty={null}
          paging={{ info, position, onMove: ignore, onLimit: ignore }}
          {...shared}
        />
      </Section>
    </>
  )
}

function usePanelId(): { id: string | undefined; close: () => void } {
  const { open } = useSearch({ strict: false }) as { open?: unknown }
  const navigate = useNavigate()
  return {
    id: open === undefined ? undefined : String(open),
    close: () => void navigate({ to: '.', search: {} }),
  }
}

const LOADING_MS = 600

function useMadeUpList() {
  const [text, setText] = useState('')
  const [department, setDepartment] = useState('')
  const [sort, setSort] = useState<Sort>({ column: 'name', direction: 'asc' })
  const [position, setPosition] = useState<ListPosition>({})
  const [limit, setLimit] = useState(20)
  const [isFetching, setFetching] = useState(false)
  const matching = people
    .filter(({ name, email }) => `${name} ${email}`.toLowerCase().includes(text.toLowerCase()))
    .filter((person) => !department || person.department === department)
    .sort((one, other) => compare(one, other, sort))
  const page = position.page ?? 1
  const slow = <Value,>(change: (value: Value) => void) => {
    return (value: Value) => {
      setFetching(true)
      setTimeout(() => setFetching(false), LOADING_MS)
      change(value)
    }
  }
  const total = matching.length
  const info = { page, limit, total, next: page * limit < total ? 'next' : null }
  return {
    text,
    department,
    sort,
    isFetching,
    rows: matching.slice((page - 1) * limit, page * limit),
    paging: { info, position, onMove: slow(setPosition), onLimit: slow(setLimit) },
    search: (value: string) => {
      setPosition({})
      setText(value)
    },
    setDepartment: (value: string) => {
      setPosition({})
      setDepartment(value)
    },
    setSort: slow(setSort),
  }
}

function compare(one: MadeUpPerson, other: MadeUpPerson, sort: Sort): number {
  const key = sort.column === 'role' ? 'role' : 'name'
  return one[key].localeCompare(other[key]) * (sort.direction === 'asc' ? 1 : -1)
}

function PersonPanel({ person, onClose }: { person: MadeUpPerson; onClose: () => void }) {
  const [tab, setTab] = useState('profile')
  return (
    <Panel
      title={person.name}
      subtitle={person.email}
      mark={<Avatar name={person.name} isLarge />}
      onClose={onClose}
      returnFocusTo={rowLinkId(person.id)}
      actions={
        <>
          <button type="button">Edit</button>
          <button
            type="button"
            className="danger"
            onClick={() => showToast('Blocked.', () => showToast('Unblocked.'))}
          >
            Block
          </button>
        </>
      }
    >
      <Tabs
        label="About this person"
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: 'profile', label: 'Profile', content: <PersonFacts person={person} /> },
          { id: 'sessions', label: 'Sessions', content: 'Not signed in.' },
          { id: 'history', label: 'History', content: `1 of ${PEOPLE_TOTAL} made-up people.` },
        ]}
      />
    </Panel>
  )
}

function PersonFacts({ person }: { person: MadeUpPerson }) {
  return (
    <dl className="facts">
      <dt>Status</dt>
      <dd>
        <StatusBadge kind="user" state={person.status} />
      </dd>
      <dt>Role</dt>
      <dd>{person.role}</dd>
      <dt>Department</dt>
      <dd>{person.department}</dd>
      <dt>Last sign-in</dt>
      <dd>
        <Ago at={person.lastSignIn} />
      </dd>
    </dl>
  )
}
