import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import { settingsTexts as texts } from './settings.texts.ts'

/** A question about a shorter retention of the audit log. It waits for the user's decision. */
export interface RetentionQuestion {
  readonly days: number
  readonly answer: (isConfirmed: boolean) => void
}

/** Asks for confirmation before entries of the audit log are removed earlier. */
export function ShortenRetention({ question: { days, answer } }: { question: RetentionQuestion }) {
  return (
    <ConfirmDanger
      title={texts.shortenTitle}
      onConfirm={() => answer(true)}
      onCancel={() => answer(false)}
    >
      <p>{texts.shorten(days)}</p>
    </ConfirmDanger>
  )
}
