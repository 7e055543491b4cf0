import { formatNumber } from '../words/numbers.ts'
import { useAttention } from './overview.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** Shows the number of faults that a person has to decide about. Shows nothing if there are none. */
export function FaultsBadge() {
  const count = useAttention()?.repairs?.count
  if (!count) return null
  return (
    <span className="badge failing">
      <span aria-hidden="true">{formatNumber(count)}</span>
      <span className="hidden">{texts.faults(count)}</span>
    </span>
  )
}
