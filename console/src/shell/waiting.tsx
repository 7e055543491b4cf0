import { useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client.ts'
import { formatNumber } from '../words/numbers.ts'
import { useClinicId } from './clinic.ts'
import { usePersonHere } from './person.ts'
import { shellTexts as texts } from './shell.texts.ts'

const REFRESH_MS = 60_000

/** Returns how many people wait for approval, renewed every minute. Undefined for roles that approve nobody. */
export function useWaitingCount(): number | undefined {
  const { role } = usePersonHere()
  const clinicId = useClinicId()
  const { data } = useQuery({
    queryKey: ['users', clinicId, 'waiting'],
    queryFn: () =>
      take(
        api.GET('/api/admin/users', {
          params: { query: { tenant_id: clinicId, status: 'pending', limit: 1 } },
        }),
      ),
    enabled: role === 'superadmin' || role === 'admin',
    staleTime: REFRESH_MS / 2,
    refetchInterval: REFRESH_MS,
  })
  return data?.total
}

/** The number of people who wait for approval. Nothing while there are none. */
export function WaitingBadge() {
  const count = useWaitingCount()
  if (!count) return null
  return (
    <span className="badge">
      <span aria-hidden="true">{formatNumber(count)}</span>
      <span className="hidden">{texts.waiting(count)}</span>
    </span>
  )
}
