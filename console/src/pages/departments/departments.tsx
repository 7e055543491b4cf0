import type { ReactNode } from 'react'
import { Ago } from '../../parts/ago.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { AddRecord } from '../../parts/list/add-record.tsx'
import { type ListState, useListState } from '../../parts/list/list-state.ts'
import { RecordList } from '../../parts/list/record-list.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty } from '../../parts/states.tsx'
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
  const addButton = mayChange && (
    <AddRecord label={texts.add.open}>{(form) => <AddDepartment {...form} />}</AddRecord>
  )
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
  return (
    <RecordList
      caption={texts.title}
      columns={columns}
      list={list}
      query={query}
      nameOf={({ name }) => name}
      nothingFound={texts.searchHint}
      empty={
        <Empty title={texts.emptyTitle} action={addButton}>
          {texts.empty}
        </Empty>
      }
      panel={(open) => <DepartmentPanel {...open} />}
    />
  )
}
