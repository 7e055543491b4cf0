/** The requests of the page "Departments". */
import { useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { failureSentence } from '../../parts/form-faults.ts'
import { type ListOptions, type ListView, pageQuery } from '../../parts/list/list-search.ts'
import { useListPage } from '../../parts/list/list-table.tsx'
import { MAX_SEARCH_LENGTH, textParameter } from '../../parts/list/parameters.ts'
import type { OptionsRequest } from '../../parts/search-combobox.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { departmentTexts as texts } from './departments.texts.ts'

/** A department as the API returns it. */
export type Department = Schemas['Department']

const filters = { search: textParameter(MAX_SEARCH_LENGTH) }

/** The filters in the URL. */
export type DepartmentParameters = typeof filters

/** The parameters and the default order of the list. */
export const departmentList: ListOptions<typeof filters> = {
  filters,
  sortable: ['name', 'created_at'],
  sort: { column: 'name', direction: 'asc' },
}

const MAX_DOCTORS = 20

/** Loads a page of the departments of a clinic. */
export function useDepartments(clinicId: number, view: ListView<typeof filters>) {
  const query = {
    tenant_id: clinicId,
    ...view.filters,
    sort_by: view.sort.column === 'created_at' ? ('created_at' as const) : ('name' as const),
    sort_order: view.sort.direction,
    ...pageQuery(view),
  }
  return useListPage('departments', clinicId, query, () =>
    take(api.GET('/api/admin/departments', { params: { query } })),
  )
}

/** Loads one department of a clinic. A department of another clinic is treated as unknown. */
export function useDepartment(clinicId: number, id: number) {
  return useQuery({
    queryKey: ['departments', clinicId, 'one', id],
    queryFn: async () => {
      const path = { dept_id: id }
      const found = await take(api.GET('/api/admin/departments/{dept_id}', { params: { path } }))
      if (found.tenant_id === clinicId) return found
      throw new ApiError({ status: 404, detail: texts.notFound })
    },
  })
}

/** Returns the request for active doctors of a clinic by name or e-mail address. */
export const doctorsRequest = (clinicId: number, search: string): OptionsRequest => ({
  queryKey: ['users', clinicId, 'doctors', search],
  queryFn: async () => {
    const query = {
      tenant_id: clinicId,
      role: 'doctor',
      status: 'active',
      sort_by: 'full_name',
      limit: MAX_DOCTORS,
      ...(search && { search }),
    } as const
    const { items } = await take(api.GET('/api/admin/users', { params: { query } }))
    return items.map(({ id, full_name, email }) => ({
      value: String(id),
      label: `${full_name}, ${email}`,
    }))
  },
})

/** Returns the commands on the departments of a clinic. Each command reloads the data that it affects. */
export function useDepartmentCommands(clinicId: number) {
  const reload = useReloadClinic()
  const update = async (id: number, body: DepartmentChange) => {
    const params = { path: { dept_id: id } }
    const changed = await take(api.PUT('/api/admin/departments/{dept_id}', { params, body }))
    reload()
    return changed
  }
  return {
    async add(body: { name: string; head_doctor_id: number | null }): Promise<Department> {
      const added = await take(
        api.POST('/api/admin/departments', { body: { ...body, tenant_id: clinicId } }),
      )
      reload()
      return added
    },
    update,
    /** Restores the previous fields, and reports the result. */
    undo: (id: number, before: DepartmentChange, done: string) => {
      const failed = (error: unknown) => showToast(texts.notUndone(failureSentence(error)))
      void update(id, before).then(() => showToast(done), failed)
    },
    async remove(id: number): Promise<void> {
      const params = { path: { dept_id: id } }
      await take(api.DELETE('/api/admin/departments/{dept_id}', { params }))
      reload({ name: 'departments', id })
    },
  }
}

interface DepartmentChange {
  readonly name?: string
  readonly head_doctor_id?: number | null
}
