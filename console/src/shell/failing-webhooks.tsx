import { useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../api/client.ts'
import { formatNumber } from '../words/numbers.ts'
import { useClinicId } from './clinic.ts'
import { usePersonHere } from './person.ts'
import { shellTexts as texts } from './shell.texts.ts'

const REFRESH_MS = 60_000

/**
 * Loads the webhooks of the user's own clinic. The list of webhooks and the number in the navigation share this
 * request, which repeats every minute.
 */
export function useWebhooks(clinicId: number) {
  const { role, tenant_id } = usePersonHere()
  return useQuery({
    queryKey: ['webhooks', clinicId, 'all'],
    queryFn: () => take(api.GET('/api/webhooks')),
    enabled: clinicId === tenant_id && (role === 'admin' || role === 'superadmin'),
    staleTime: REFRESH_MS / 2,
    refetchInterval: REFRESH_MS,
  })
}

/** True for a webhook that needs attention: it fails, or the service has deactivated it. */
const needsHelp = ({ is_active, failing_since, disabled_reason }: Schemas['Webhook']): boolean =>
  (is_active && failing_since !== null) ||
  disabled_reason === 'failing' ||
  disabled_reason === 'gone'

/** Shows the number of failing webhooks. Shows nothing if there are none. */
export function FailingBadge() {
  const { data } = useWebhooks(useClinicId())
  const count = data?.filter(needsHelp).length
  if (!count) return null
  return (
    <span className="badge failing">
      <span aria-hidden="true">{formatNumber(count)}</span>
      <span className="hidden">{texts.failing(count)}</span>
    </span>
  )
}
