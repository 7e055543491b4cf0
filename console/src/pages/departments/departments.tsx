import { type ReactNode, useState } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { type Column, rowLinkId } from '../../parts/data-table/index.ts'
import {
  type ListState,
  linkToOpen,
  useChangeSearch,
  useListState,
  useOpenRecord,
} from '../../parts/list/list-state.ts'
import { ListTable } from '../../parts/list/list-table.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, NothingFound } from '../../parts/states.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { formatNumber } from '../../words/numbers.ts'
import { isAdministrator } from '../../words/roles.ts'
import {
  type Department,
  type DepartmentParameters,
  departmentList,
  useDepartments,
} from './data.ts'
import { AddDepartment } from './department-forms.tsx'
import { DepartmentPanel } from './department-panel.tsx'
import { departmentTexts as texts } from './departments.texts.ts'
import { MembersLink } from './members-link.tsx'

const columns: readonly Column<Department>[] = [
  {
    id: 'name',
    label: texts.name,
    render: ({ name }) => <bdi>{name}</bdi>,
    isSortable: true,
    rank: 1,
  },
  {
    id: 'head',
    label: texts.head,
    render: ({ head_doctor_name }) =>
      head_doctor_name === null ? (
        <span className="muted">{texts.noHead}</span>
      ) : (
        <bdi>{head_doctor_name}</bdi>
      ),
  },
  {
    id: 'members',
    label: texts.members,
    render: (department) => <MembersLink department={department} />,
    isNumber: true,
    rank: 1,
  },
  {
    id: 'created_at',
    label: texts.created,
    render: ({ created_at }) => <Ago at={created_at} />,
    isSortable: true,
  },
]

/** The list of a clinic's departments, and the panel of the open department beside it. */
export function Page() {
  const list = useListState(departmentList)
  const query = useDepartments(useClinicId(), list)
  const mayChange = isAdministrator(usePersonHere().role)
  const addButton = mayChange && <AddButton />
  return (
    <>
      <PageHead
        title={texts.title}
        count={query.data && formatNumber(query.data.total)}
        actions={addButton}
      />
      <search className="filters">
        <SearchField
          label={texts.search}
          value={list.filters.search ?? ''}
          onSearch={(search) => list.setFilters({ search })}
        />
      </search>
      <DepartmentTable list={list} query={query} addButton={addButton} />
    </>
  )
}

interface DepartmentTableProps {
  readonly list: ListState<DepartmentParameters>
  readonly query: ReturnType<typeof useDepartments>
  readonly addButton: ReactNode
}

function DepartmentTable({ list, query, addButton }: DepartmentTableProps) {
  const open = useOpenRecord()
  const openId = open.id === undefined ? undefined : String(open.id)
  return (
    <div className="split">
      <ListTable
        caption={texts.title}
        columns={columns}
        list={list}
        query={query}
        idOf={({ id }) => String(id)}
        nameOf={({ name }) => name}
        linkOf={({ id }) => linkToOpen(id)}
        openId={openId}
        empty={<NoDepartments onClear={list.isFiltered && list.clearFilters} action={addButton} />}
      />
      {open.id !== undefined && (
        <DepartmentPanel
          key={openId}
          id={open.id}
          returnFocusTo={rowLinkId(String(open.id))}
          onClose={open.close}
        />
      )}
    </div>
  )
}

/** The button that adds a department and then opens the department. */
function AddButton() {
  const changeSearch = useChangeSearch()
  const [isAdding, setAdding] = useState(false)
  const close = () => setAdding(false)
  return (
    <>
      <button type="button" className="primary" onClick={() => setAdding(true)}>
        {texts.add.open}
      </button>
      {isAdding && (
        <AddDepartment
          onClose={close}
          onAdded={({ id }) => {
            close()
            changeSearch({ open: id })
          }}
        />
      )}
    </>
  )
}

interface NoDepartmentsProps {
  /** Clears the filters. False if no filters are set. */
  readonly onClear: (() => void) | false
  readonly action: ReactNode
}

function NoDepartments({ onClear, action }: NoDepartmentsProps) {
  if (onClear) return <NothingFound onClear={onClear}>{texts.searchHint}</NothingFound>
  return (
    <Empty title={texts.emptyTitle} action={action}>
      {texts.empty}
    </Empty>
  )
}
