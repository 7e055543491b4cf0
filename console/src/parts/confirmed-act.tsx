import { type ReactNode, useState } from 'react'
import { ConfirmDanger } from './confirm-danger.tsx'
import { useFocusAfterRemoval } from './focus-heading.ts'
import { showToast } from './toasts.ts'

interface ConfirmedActProps {
  /** The label of the button. */
  readonly open: string
  /** The title of the dialog and the label of its button. */
  readonly title: string
  readonly className?: string
  /** Performs the act, and returns the sentence about its result. */
  readonly act: () => Promise<string>
  /** Called after the act. */
  readonly onDone?: () => void
  /** The consequences. */
  readonly children: ReactNode
}

/** A button that performs an act after a confirmation in a dialog. A toast shows the result. */
export function ConfirmedAct({ open, title, className, act, onDone, children }: ConfirmedActProps) {
  const [isAsking, setAsking] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  useFocusAfterRemoval()
  const confirm = async () => {
    setBusy(true)
    setError(undefined)
    try {
      showToast(await act())
      setAsking(false)
      onDone?.()
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  return (
    <>
      <button type="button" className={className} onClick={() => setAsking(true)}>
        {open}
      </button>
      {isAsking && (
        <ConfirmDanger
          title={title}
          error={error}
          isBusy={isBusy}
          onConfirm={() => void confirm()}
          onCancel={() => {
            setAsking(false)
            setError(undefined)
          }}
        >
          {children}
        </ConfirmDanger>
      )}
    </>
  )
}
