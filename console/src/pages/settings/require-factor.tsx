import { ConfirmDanger } from '../../parts/confirm-danger.tsx'
import type { Role } from '../../words/roles.ts'
import { settingsTexts as texts } from './settings.texts.ts'

/** A question about requiring a second factor. It waits for the user's decision. */
export interface FactorQuestion {
  /** The people without a second factor, by role. */
  readonly counts: readonly (readonly [Role, number])[]
  /** True if the role of the current user is among the roles. */
  readonly concernsReader: boolean
  readonly answer: (isConfirmed: boolean) => void
}

/** Asks for confirmation before a second factor is required. Shows how many users this affects. */
export function RequireFactor({ question }: { question: FactorQuestion }) {
  const { counts, concernsReader, answer } = question
  return (
    <ConfirmDanger
      title={texts.requireTitle}
      onConfirm={() => answer(true)}
      onCancel={() => answer(false)}
    >
      <p>
        {texts.affected(counts)} {concernsReader && texts.yourself} {texts.wayBack}
      </p>
    </ConfirmDanger>
  )
}
