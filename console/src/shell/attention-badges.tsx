/** The numbers in the navigation. They show what the overview lists as "Needs attention". */
import { formatNumber } from '../words/numbers.ts'
import { useAttention } from './overview.ts'
import { shellTexts as texts } from './shell.texts.ts'

/** Shows the number of failing webhooks. Shows nothing if there are none. */
export function FailingBadge() {
  return <CountBadge count={useAttention()?.webhooks?.count} words={texts.failing} />
}

/** Shows the number of faults that a person has to decide about. Shows nothing if there are none. */
export function FaultsBadge() {
  return <CountBadge count={useAttention()?.repairs?.count} words={texts.faults} />
}

interface CountBadgeProps {
  readonly count: number | undefined
  /** Describes the number to screen readers. */
  readonly words: (count: number) => string
}

function CountBadge({ count, words }: CountBadgeProps) {
  if (!count) return null
  return (
    <span className="badge failing">
      <span aria-hidden="true">{formatNumber(count)}</span>
      <span className="hidden">{words(count)}</span>
    </span>
  )
}
