/** The list of users: the parameters of its URL, and its request. */
import { api, take } from '../../api/client.ts'
import { pageQuery } from '../../parts/list/list-search.ts'
import type { ListState } from '../../parts/list/list-state.ts'
import { useListPage } from '../../parts/list/list-table.tsx'
import { choiceParameter, idParameter, textParameter } from '../../parts/list/parameters.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { ROLES } from '../../words/roles.ts'

/** The states of a user, in the order of the filter. */
export const USER_STATES = ['active', 'blocked', 'pending'] as const

/** The states of the second factor, in the order of the filter. */
export const FACTOR_STATES = ['on', 'off'] as const

const MAX_SEARCH_LENGTH = 200

const SORTABLE = ['full_name', 'email', 'role', 'created_at'] as const

/** The parameters and the order of the list. */
export const userListOptions = {
  filters: {
    search: textParameter(MAX_SEARCH_LENGTH),
    role: choiceParameter(ROLES),
    status: choiceParameter(USER_STATES),
    department: idParameter,
    factor: choiceParameter(FACTOR_STATES),
  },
  sortable: SORTABLE,
  sort: { column: 'full_name', direction: 'asc' },
} as const

/** The state of the list of users. */
export type UserListState = ListState<(typeof userListOptions)['filters']>

/** Loads the page of users that the URL describes. */
export function useUserPage(list: UserListState) {
  const clinicId = useClinicId()
  const { search, role, status, department, factor } = list.filters
  const query = {
    tenant_id: clinicId,
    ...pageQuery(list),
    sort_by: SORTABLE.find((column) => column === list.sort.column) ?? SORTABLE[0],
    sort_order: list.sort.direction,
    ...(search && { search }),
    ...(role && { role }),
    ...(status && { status }),
    ...(department && { department_id: department }),
    ...(factor && { totp_enabled: factor === 'on' }),
  }
  return useListPage('users', clinicId, query, () =>
    take(api.GET('/api/admin/users', { params: { query } })),
  )
}
