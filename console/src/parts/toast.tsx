import { useSyncExternalStore } from 'react'
import { commonTexts } from '../words/common.texts.ts'
import { closeThenFocus, focusIfLost } from './focus-heading.ts'
import { Icon } from './icon.tsx'
import {
  currentToasts,
  dismissToast,
  holdToast,
  resumeToast,
  subscribeToToasts,
  type Toast,
} from './toasts.ts'
import './toast.css'

/** The container of all messages. The shell renders it once. Screen readers announce new messages. */
export function ToastRegion() {
  const toasts = useSyncExternalStore(subscribeToToasts, currentToasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <ToastMessage key={toast.id} toast={toast} />
      ))}
    </div>
  )
}

function ToastMessage({ toast }: { toast: Toast }) {
  const { id, text, undo } = toast
  const dismiss = () => closeThenFocus(() => dismissToast(id), focusIfLost)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer and the focus only keep the message on the page
    <div
      className="toast"
      onPointerEnter={() => holdToast(id)}
      onPointerLeave={() => resumeToast(id)}
      onFocus={() => holdToast(id)}
      onBlur={() => resumeToast(id)}
    >
      <span className="grow">{text}</span>
      {undo && (
        <button
          type="button"
          className="link"
          onClick={() => {
            dismiss()
            undo()
          }}
        >
          {commonTexts.undo}
        </button>
      )}
      <button type="button" className="plain" aria-label={commonTexts.close} onClick={dismiss}>
        <Icon name="close" />
      </button>
    </div>
  )
}
