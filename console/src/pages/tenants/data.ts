/** The requests of the page "Clinics". */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { MAX_NUMBERED } from '../../parts/data-table/paging.ts'
import { type ListOptions, type ListView, pageQuery } from '../../parts/list/list-search.ts'
import { type ListPage, useListPage } from '../../parts/list/list-table.tsx'
import { choiceParameter, MAX_SEARCH_LENGTH, textParameter } from '../../parts/list/parameters.ts'
import { useClinicId } from '../../shell/clinic.ts'

/** A clinic, deleted ones included, as the list of the API contains it. */
export type Clinic = Schemas['ListedTenant']

/** The states of a clinic by which the list can be filtered. */
export const CLINIC_STATES = ['active', 'inactive', 'deleted'] as const

/** The state of a clinic. */
export type ClinicState = (typeof CLINIC_STATES)[number]

/** Returns the state of a clinic. */
export function stateOf({ deleted_at, is_active }: Clinic): ClinicState {
  if (deleted_at !== null) return 'deleted'
  return is_active ? 'active' : 'inactive'
}

const filters = {
  search: textParameter(MAX_SEARCH_LENGTH),
  status: choiceParameter(CLINIC_STATES),
}

/** The filters in the URL. */
export type ClinicParameters = typeof filters

/** The parameters and the order of the list, which the service sorts by name. */
export const clinicList: ListOptions<typeof filters> = {
  filters,
  sortable: [],
  sort: { column: 'name', direction: 'asc' },
}

/** Loads a page of the clinics. */
export function useClinicList(view: ListView<typeof filters>) {
  const { limit, page = 1 } = pageQuery(view)
  const query = { ...view.filters, counts: true, page, limit }
  return useListPage('clinics', useClinicId(), query, async (): Promise<ListPage<Clinic>> => {
    const { data = [], response } = await api.GET('/api/admin/tenants', { params: { query } })
    const total = Number(response.headers.get('x-total-count'))
    const isLast = page * limit >= Math.min(total, MAX_NUMBERED)
    // The list has numbered pages only, so the cursor only says whether another page follows.
    return { items: data, total, page, limit, next: isLast ? null : 'page' }
  })
}

/**
 * Loads a clinic that is not on the page of the list. Deleted clinics are found only in the list.
 * @param enabled false if the list shows the clinic
 */
export function useClinic(id: number, enabled: boolean) {
  return useQuery({
    queryKey: ['clinics', 'one', id],
    queryFn: async (): Promise<Clinic> => {
      const params = { path: { tenant_id: id } }
      const tenant = await take(api.GET('/api/admin/tenants/{tenant_id}', { params }))
      return { ...tenant, deleted_at: null, restorable_until: null }
    },
    enabled,
  })
}

/** Returns the commands on clinics. Each reloads the lists of clinics. */
export function useClinicCommands() {
  const queries = useQueryClient()
  const reload = () => queries.invalidateQueries({ queryKey: ['clinics'] })
  const run = async <Result>(command: Promise<Result>): Promise<Result> => {
    const result = await command
    void reload()
    return result
  }
  const at = (tenant_id: number) => ({ params: { path: { tenant_id } } })
  return {
    add: (body: { name: string; subdomain: string }) =>
      run(take(api.POST('/api/admin/tenants', { body }))),
    setActive: (id: number, is_active: boolean) =>
      run(take(api.PUT('/api/admin/tenants/{tenant_id}', { ...at(id), body: { is_active } }))),
    remove: (id: number) => run(take(api.DELETE('/api/admin/tenants/{tenant_id}', at(id)))),
    restore: (id: number) => run(take(api.POST('/api/admin/tenants/{tenant_id}/restore', at(id)))),
  }
}
