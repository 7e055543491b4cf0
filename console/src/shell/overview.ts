import { useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client.ts'
import { useClinicId } from './clinic.ts'
import { usePersonHere } from './person.ts'

export type Overview = Schemas['Overview']

const REFRESH_MS = 20_000

/**
 * Loads the overview of the clinic. The page "Overview" and the numbers in the navigation share this request, which
 * repeats every 20 seconds while the tab is visible.
 * @param staleTime the age in milliseconds from which mounting a component loads the overview again
 */
export function useOverview(staleTime?: number) {
  const { role } = usePersonHere()
  const clinicId = useClinicId()
  return useQuery({
    queryKey: ['overview', clinicId],
    queryFn: () =>
      take(api.GET('/api/admin/overview', { params: { query: { tenant_id: clinicId } } })),
    enabled: role === 'superadmin' || role === 'admin',
    refetchInterval: REFRESH_MS,
    ...(staleTime !== undefined && { staleTime }),
  })
}

/** Returns what needs attention, for a number in the navigation. Undefined for roles without an overview. */
export const useAttention = (): Overview['attention'] | undefined =>
  useOverview(REFRESH_MS / 2).data?.attention
