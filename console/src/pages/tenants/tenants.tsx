import type { ReactNode } from 'react'
import { Ago } from '../../parts/ago.tsx'
import { ChoiceFilter } from '../../parts/choice-filter.tsx'
import type { Column } from '../../parts/data-table/index.ts'
import { AddRecord } from '../../parts/list/add-record.tsx'
import { ListFilters } from '../../parts/list/list-filters.tsx'
import { type ListState, useListState } from '../../parts/list/list-state.ts'
import { RecordList } from '../../parts/list/record-list.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { formatNumber } from '../../words/numbers.ts'
import { statusWord } from '../../words/statuses.ts'
import { AddTenant } from './add-tenant.tsx'
import {
  CLINIC_STATES,
  type Clinic,
  type ClinicParameters,
  clinicList,
  stateOf,
  useClinicList,
} from './data.ts'
import { TenantPanel } from './tenant-panel.tsx'
import { tenantTexts as texts } from './tenants.texts.ts'

const columns: readonly Column<Clinic>[] = [
  { id: 'name', label: texts.name, render: ({ name }) => <bdi>{name}</bdi>, rank: 1 },
  {
    id: 'subdomain',
    label: texts.subdomain,
    render: ({ subdomain }) => <span className="mono">{subdomain}</span>,
  },
  {
    id: 'state',
    label: texts.state,
    render: (clinic) => <StatusBadge kind="tenant" state={stateOf(clinic)} />,
    rank: 1,
  },
  {
    id: 'users',
    label: texts.users,
    render: ({ users_count }) => users_count !== undefined && texts.usersOf(users_count),
    isNumber: true,
  },
  { id: 'created', label: texts.created, render: ({ created_at }) => <Ago at={created_at} /> },
]

/** The columns of the list of deleted clinics. */
const deletedColumns: readonly Column<Clinic>[] = [
  ...columns.slice(0, -1),
  {
    id: 'restorable',
    label: texts.restorable,
    render: ({ restorable_until: until }) => until && <Ago at={until} />,
  },
]

/** The clinics of the installation, and the panel of the open clinic beside them. */
export function Page() {
  const list = useListState(clinicList)
  const query = useClinicList(list)
  const { search = '', status } = list.filters
  const addButton = (
    <AddRecord label={texts.add.open}>{(form) => <AddTenant {...form} />}</AddRecord>
  )
  return (
    <>
      <PageHead
        title={texts.title}
        count={query.data && formatNumber(query.data.total)}
        actions={addButton}
      />
      <ListFilters list={list}>
        <SearchField
          label={texts.search}
          value={search}
          onSearch={(text) => list.setFilters({ search: text })}
        />
        <ChoiceFilter
          label={texts.state}
          any={texts.anyState}
          value={status}
          choices={CLINIC_STATES.map((state) => [state, statusWord('tenant', state).word])}
          onChoose={(state) => list.setFilters({ status: state })}
        />
      </ListFilters>
      <TenantTable list={list} query={query} addButton={addButton} />
    </>
  )
}

interface TenantTableProps {
  readonly list: ListState<ClinicParameters>
  readonly query: ReturnType<typeof useClinicList>
  readonly addButton: ReactNode
}

function TenantTable({ list, query, addButton }: TenantTableProps) {
  return (
    <RecordList
      caption={texts.title}
      columns={list.filters.status === 'deleted' ? deletedColumns : columns}
      list={list}
      query={query}
      nameOf={({ name }) => name}
      nothingFound={texts.searchHint}
      empty={
        <Empty title={texts.emptyTitle} action={addButton}>
          {texts.empty}
        </Empty>
      }
      panel={(open) =>
        query.data && (
          <TenantPanel {...open} known={query.data.items.find(({ id }) => id === open.id)} />
        )
      }
    />
  )
}
