import { useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client.ts'
import { formatNumber } from '../words/numbers.ts'
import { useClinicId } from './clinic.ts'
import { usePersonHere } from './person.ts'
import { shellTexts as texts } from './shell.texts.ts'

const REFRESH_MS = 60_000

/** Returns how many users wait for approval. Refreshes every minute. Undefined for roles that cannot approve users. */
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

/** Shows the number of users who wait for approval. Shows nothing if there are none. */
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
