/** The warning before a sign-out for inactivity. */
import { useId, useRef } from 'react'
import { useModal } from '../parts/modal.ts'
import { idleWarningTexts as texts } from './idle-warning.texts.ts'
import { idleWatch, session, useSecondsLeft } from './index.ts'
import './idle-warning.css'

/** Shows the warning during the last minute before the sign-out. */
export function IdleWarning() {
  const left = useSecondsLeft()
  return left === undefined ? null : <Warning left={left} />
}

function Warning({ left }: { left: number }) {
  const id = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  useModal(dialog)
  return (
    <dialog
      ref={dialog}
      className="idle-warning"
      role="alertdialog"
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-body`}
      onCancel={(event) => {
        event.preventDefault()
        idleWatch.stay()
      }}
    >
      <h2 id={`${id}-title`}>{texts.title}</h2>
      <p id={`${id}-body`}>{texts.body}</p>
      <p role="timer" className="figure">
        {texts.left(left)}
      </p>
      <div className="row">
        <button type="button" className="primary" onClick={idleWatch.stay}>
          {texts.stay}
        </button>
        <button type="button" onClick={() => session.signOut('chosen')}>
          {texts.signOut}
        </button>
      </div>
    </dialog>
  )
}
