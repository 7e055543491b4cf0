import { useQuery } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { ChoiceFilter } from '../../parts/choice-filter.tsx'
import { ListFilters } from '../../parts/list/list-filters.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { ROLES, roleNames } from '../../words/roles.ts'
import { statusWord } from '../../words/statuses.ts'
import type { User } from './data.ts'
import { DepartmentChoice } from './department-choice.tsx'
import { FACTOR_STATES, USER_STATES, type UserListState } from './user-list.ts'
import { usersTexts } from './users.texts.ts'

const texts = usersTexts.filters

interface UserFiltersProps {
  readonly list: UserListState
  /** The rows of the page; undefined while they load. */
  readonly rows: readonly User[] | undefined
}

/** The search and the filters of the list of users. */
export function UserFilters({ list, rows }: UserFiltersProps) {
  const { search = '', role, status, department, factor } = list.filters
  return (
    <ListFilters list={list}>
      <SearchField
        label={usersTexts.search}
        value={search}
        onSearch={(text) => list.setFilters({ search: text })}
      />
      <ChoiceFilter
        label={texts.role}
        any={texts.anyRole}
        value={role}
        choices={ROLES.map((choice) => [choice, roleNames[choice]])}
        onChoose={(choice) => list.setFilters({ role: choice })}
      />
      <ChoiceFilter
        label={texts.status}
        any={texts.anyStatus}
        value={status}
        choices={USER_STATES.map((choice) => [choice, statusWord('user', choice).word])}
        onChoose={(choice) => list.setFilters({ status: choice })}
      />
      <DepartmentChoice
        label={texts.department}
        noneLabel={texts.anyDepartment}
        value={department}
        valueName={useDepartmentName(department, rows)}
        onChange={(id) => list.setFilters({ department: id })}
      />
      <ChoiceFilter
        label={texts.factor}
        any={texts.anyFactor}
        value={factor}
        choices={FACTOR_STATES.map((choice) => [
          choice,
          choice === 'on' ? texts.factorOn : texts.factorOff,
        ])}
        onChoose={(choice) => list.setFilters({ factor: choice })}
      />
    </ListFilters>
  )
}

/** Returns the name of the department in the filter. Takes it from the rows, or loads it if the list is empty. */
function useDepartmentName(
  id: number | undefined,
  rows: readonly User[] | undefined,
): string | undefined {
  const clinicId = useClinicId()
  const known = rows?.find(({ department_id }) => department_id === id)?.department_name
  const query = useQuery({
    queryKey: ['departments', clinicId, 'name', id],
    queryFn: () =>
      take(api.GET('/api/admin/departments/{dept_id}', { params: { path: { dept_id: id ?? 0 } } })),
    enabled: id !== undefined && rows !== undefined && !known,
  })
  return known ?? query.data?.name
}
