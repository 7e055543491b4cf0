import { formatNumber } from '../words/numbers.ts'
import { useAttention } from './overview.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** Returns how many users wait for approval. Undefined for roles that cannot approve users. */
export const useWaitingCount = (): number | undefined => useAttention()?.registrations?.count

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
