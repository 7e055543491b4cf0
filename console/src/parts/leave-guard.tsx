import { useBlocker } from '@tanstack/react-router'
import { session } from '../session/index.ts'
import { Dialog, DialogActions } from './dialog.tsx'

interface LeaveGuardProps {
  /** Returns true if the user would lose input by leaving. */
  readonly isOn: () => boolean
  /** The title of the question, and the label of the button that leaves. */
  readonly title: string
  /** A sentence about the input that would be lost. */
  readonly body: string
  readonly stay: string
}

/** Asks for confirmation before the user leaves the page. Never delays a sign-out. */
export function LeaveGuard({ isOn, title, body, stay }: LeaveGuardProps) {
  const leaving = useBlocker({
    shouldBlockFn: () => isOn() && session.state().status === 'signed-in',
    enableBeforeUnload: isOn,
    withResolver: true,
  })
  if (leaving.status !== 'blocked') return null
  return (
    <LossQuestion
      title={title}
      body={body}
      stay={stay}
      onStay={leaving.reset}
      onLeave={leaving.proceed}
    />
  )
}

interface LossQuestionProps extends Omit<LeaveGuardProps, 'isOn'> {
  readonly onStay: () => void
  readonly onLeave: () => void
}

/** Asks for confirmation before input is lost. The button that stays on the page has the focus. */
export function LossQuestion({ title, body, stay, onStay, onLeave }: LossQuestionProps) {
  return (
    <Dialog title={title} alert onClose={onStay}>
      <p>{body}</p>
      <DialogActions>
        <button type="button" onClick={onStay}>
          {stay}
        </button>
        <button type="button" className="danger solid" onClick={onLeave}>
          {title}
        </button>
      </DialogActions>
    </Dialog>
  )
}
