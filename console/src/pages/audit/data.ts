/** The requests of the audit log. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { pageQuery } from '../../parts/list/list-search.ts'
import { useListPage } from '../../parts/list/list-table.tsx'
import type { OptionsRequest } from '../../parts/search-combobox.tsx'
import { useClinicId } from '../../shell/clinic.ts'
import { findPeople } from '../../shell/find.ts'
import { actionsQuery } from './action-meanings.ts'
import {
  type AuditFilters,
  type AuditQuery,
  type AuditSpan,
  type AuditView,
  auditQuery,
  namesActions,
} from './filters.ts'

/** The interval of polls for new entries in live mode. */
const LIVE_MS = 3000

/** Loads the page of the audit log for a view. Polls for new entries while `isLive`. */
export function useEntries(view: AuditView, span: AuditSpan, isLive: boolean) {
  const clinicId = useClinicId()
  const queryOf = useAuditQuery(view.filters, span)
  const place = { ...pageQuery(view), sort_order: view.sort.direction }
  return useListPage(
    'audit',
    clinicId,
    { ...view.filters, ...span, ...place },
    async () => {
      const query = { ...(await queryOf()), ...place }
      return take(api.GET('/api/admin/audit', { params: { query } }))
    },
    isLive ? LIVE_MS : undefined,
  )
}

/**
 * Returns a function that computes the filters for the API. If the filters contain actions, the function first loads
 * the known actions.
 */
export function useAuditQuery(filters: AuditFilters, span: AuditSpan): () => Promise<AuditQuery> {
  const clinicId = useClinicId()
  const queries = useQueryClient()
  return async () => {
    const known = namesActions(filters) ? await queries.ensureQueryData(actionsQuery) : []
    return auditQuery(clinicId, filters, span, known)
  }
}

/** Returns the request for people of a clinic by name or e-mail address. */
export const peopleRequest = (clinicId: number, text: string): OptionsRequest => ({
  queryKey: ['users', clinicId, 'choice', text],
  queryFn: async () => {
    const people = await findPeople(text, clinicId)
    return people.map(({ id, label, hint }) => ({ value: String(id), label: `${label}, ${hint}` }))
  },
})

/** The state of the verification of a log, as the API returns it. */
export type LogVerification = Schemas['AuditVerifications']['items'][number]

/** The interval of requests for the progress of a verification that a person waits for. */
const PROGRESS_MS = 1000

/** Loads the state of the log of the clinic, and returns a function that starts a verification. */
export function useVerification() {
  const clinicId = useClinicId()
  const queries = useQueryClient()
  const queryKey = ['audit-log', clinicId]
  const params = { query: { tenant_id: clinicId } }
  const { data } = useQuery({
    queryKey,
    queryFn: async () =>
      (await take(api.GET('/api/admin/audit/verify', { params }))).items[0] ?? null,
    refetchInterval: ({ state }) => (state.data?.running?.is_requested ? PROGRESS_MS : false),
  })
  return {
    log: data ?? undefined,
    async verify(): Promise<void> {
      const { items } = await take(api.POST('/api/admin/audit/verify', { params }))
      queries.setQueryData(queryKey, items[0] ?? null)
    },
  }
}

/** The largest page size of the API. It is assumed that fewer entries than this have the same time. */
const MAX_OF_ONE_TIME = 100

/**
 * Loads an entry if it is not among the rows.
 * @param at the time of the entry
 */
export function useEntry(id: number | undefined, at: string | undefined, isNeeded: boolean) {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['audit', clinicId, 'one', id, at],
    queryFn: async () => {
      const end = new Date(Date.parse(at ?? '') + 1).toISOString()
      const span = at === undefined ? {} : { from_date: at, to_date: end }
      const query = { tenant_id: clinicId, ...span, limit: MAX_OF_ONE_TIME }
      const { items } = await take(api.GET('/api/admin/audit', { params: { query } }))
      return items.find((entry) => entry.id === id) ?? null
    },
    enabled: id !== undefined && at !== undefined && isNeeded,
  })
}

/** Loads the name of a person if it is not known. */
export function usePersonName(id: number | undefined, isNeeded: boolean): string | undefined {
  const clinicId = useClinicId()
  const query = useQuery({
    queryKey: ['users', clinicId, 'name', id],
    queryFn: async () => {
      const path = { user_id: id ?? 0 }
      const { full_name } = await take(api.GET('/api/admin/users/{user_id}', { params: { path } }))
      return full_name
    },
    enabled: id !== undefined && isNeeded,
  })
  return query.data
}
