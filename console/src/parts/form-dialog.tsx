import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react'
import { session } from '../session/index.ts'
import { commonTexts } from '../words/common.texts.ts'
import { Dialog } from './dialog.tsx'
import { formTexts as texts } from './form.texts.ts'
import { Form, type ReadField } from './form.tsx'
import { isFormChanged } from './form-changes.ts'
import { LeaveGuard, LossQuestion } from './leave-guard.tsx'

interface FormDialogProps<Result>
  extends Omit<ComponentProps<typeof Form>, 'onSubmit' | 'footer' | 'formRef'> {
  readonly title: string
  /** Text above the form. */
  readonly lead?: ReactNode
  /** Sends the form. If it rejects with an `ApiError`, the form shows the error. */
  readonly onSubmit: (read: ReadField) => Promise<Result>
  /** Called after the service has accepted the form, unless the user has left the page. */
  readonly onSent: (result: Result) => void
  /** Called when the dialog is closed without sending. */
  readonly onClose: () => void
}

const loss = { title: texts.discard, body: texts.discardBody, stay: texts.stay }

/**
 * A dialog with a form. It stays open while the form is being sent, and asks for confirmation before it discards input.
 */
export function FormDialog<Result>(props: FormDialogProps<Result>) {
  const { title, lead, onSubmit, onSent, onClose, ...form } = props
  const element = useRef<HTMLFormElement>(null)
  const [isAsking, setAsking] = useState(false)
  const sending = useSending(onSubmit, onSent)
  const isChanged = () => element.current !== null && isFormChanged(element.current)
  const close = () => (isChanged() ? setAsking(true) : onClose())
  return (
    <>
      <Dialog title={title} isBusy={sending.isBusy} onClose={close}>
        {lead}
        <Form
          {...form}
          formRef={element}
          onSubmit={sending.submit}
          footer={
            <button
              type="button"
              className="wide"
              aria-disabled={sending.isBusy}
              onClick={() => !sending.isBusy && close()}
            >
              {commonTexts.cancel}
            </button>
          }
        />
      </Dialog>
      {isAsking && <LossQuestion {...loss} onStay={() => setAsking(false)} onLeave={onClose} />}
      <LeaveGuard {...loss} isOn={() => !sending.isSent() && isChanged()} />
    </>
  )
}

/** Sends the form and tracks its state. The dialog can still be closed while the service is unavailable. */
function useSending<Result>(
  onSubmit: FormDialogProps<Result>['onSubmit'],
  onSent: FormDialogProps<Result>['onSent'],
) {
  const [isBusy, setBusy] = useState(false)
  const isSent = useRef(false)
  const isShown = useRef(true)
  useEffect(() => {
    isShown.current = true
    return () => {
      isShown.current = false
    }
  }, [])
  const submit = async (read: ReadField): Promise<void> => {
    setBusy(true)
    try {
      const result = await onSubmit(read)
      isSent.current = true
      if (isShown.current && session.state().status === 'signed-in') onSent(result)
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, submit, isSent: () => isSent.current }
}
