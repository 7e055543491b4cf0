/** The requests of the overview. */
import { useQuery } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { api, type Schemas, take } from '../../api/client.ts'
import { addressOf, useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'

export type Overview = Schemas['Overview']

/** The interval of refreshes while the page is visible. */
const REFRESH_MS = 60_000
const MAX_CHANGES = 5

/** Loads the overview of the clinic. */
export function useOverview() {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['overview', clinicId],
    queryFn: () =>
      take(api.GET('/api/admin/overview', { params: { query: { tenant_id: clinicId } } })),
    refetchInterval: REFRESH_MS,
  })
}

/**
 * The groups of actions that change data. Some actions on patients only read, so the changing ones are listed
 * separately.
 */
const CHANGING_GROUPS = [
  'tenant',
  'department',
  'user',
  'webhook',
  'payment',
  'backup',
  'encryption',
  'self_healing',
] as const
const CHANGES_OF_PATIENTS = ['created', 'updated', 'deleted', 'restored', 'break_glass'].map(
  (verb) => `patient.${verb}`,
)

/** Loads the latest changes in the clinic. */
export function useLatestChanges() {
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['audit', clinicId, 'latest'],
    queryFn: () => {
      const query = {
        tenant_id: clinicId,
        group: [...CHANGING_GROUPS],
        action: CHANGES_OF_PATIENTS,
        limit: MAX_CHANGES,
      }
      return take(api.GET('/api/admin/audit', { params: { query } }))
    },
    refetchInterval: REFRESH_MS,
  })
}

/** Returns a function that finds the URL of a page. The function returns undefined for a page that does not exist. */
export function usePageAddress(): (path: string) => string | undefined {
  const person = usePersonHere()
  const clinicId = useClinicId()
  const { routesByPath } = useRouter()
  return (path) =>
    Object.hasOwn(routesByPath, path) ? addressOf({ path }, person, clinicId) : undefined
}
