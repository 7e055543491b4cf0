/** Finds records for the global search. */
import { api, take } from '../api/client.ts'

/** A record that was found. */
export interface FoundRecord {
  readonly id: number
  readonly label: string
  readonly hint: string
}

const MAX_FOUND = 5

/** Finds people of a clinic by name or e-mail address. */
export async function findPeople(search: string, tenant_id: number): Promise<FoundRecord[]> {
  const query = { search, tenant_id, limit: MAX_FOUND }
  const { items } = await take(api.GET('/api/admin/users', { params: { query } }))
  return items.map(({ id, full_name, email }) => ({ id, label: full_name, hint: email }))
}

/** Finds departments of a clinic by name. */
export async function findDepartments(search: string, tenant_id: number): Promise<FoundRecord[]> {
  const query = { search, tenant_id, limit: MAX_FOUND }
  const { items } = await take(api.GET('/api/admin/departments', { params: { query } }))
  return items.map(({ id, name }) => ({ id, label: name, hint: '' }))
}
