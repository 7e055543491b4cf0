import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { session } from '../session/index.ts'
import { CopyButton } from './copy-button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { Icon } from './icon.tsx'
import { saveText } from './save-text.ts'
import { secretOnceTexts as texts } from './secret-once.texts.ts'
import './secret-once.css'

interface SecretOnceProps {
  readonly label: string
  readonly value: string
  /** The name of the file that Save writes. */
  readonly fileName: string
  /** Called once the reader confirmed to have kept the value. */
  readonly onKept: () => void
}

/** A secret that is shown only once. Leaving the page asks until the reader confirms to have kept it. */
export function SecretOnce({ label, value, fileName, onKept }: SecretOnceProps) {
  const [isKept, setKept] = useState(false)
  const leaving = useBlocker({
    // A sign-out is never held up.
    shouldBlockFn: () => !isKept && session.state().status === 'signed-in',
    enableBeforeUnload: () => !isKept,
    withResolver: true,
  })
  return (
    <section className="secret stack" aria-label={label}>
      <pre className="mono">{value}</pre>
      <p>
        <b>{texts.warning}</b>
      </p>
      <div className="row">
        <CopyButton text={value} />
        <button type="button" onClick={() => saveText(value, fileName)}>
          <Icon name="save" />
          {texts.save}
        </button>
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={isKept}
          onChange={(event) => setKept(event.target.checked)}
        />
        {texts.kept}
      </label>
      <div className="row">
        <button type="button" className="primary" disabled={!isKept} onClick={onKept}>
          {texts.done}
        </button>
      </div>
      {leaving.status === 'blocked' && (
        <Dialog title={texts.leaveTitle} alert onClose={leaving.reset}>
          <p>{texts.leaveBody}</p>
          <DialogActions>
            <button type="button" onClick={leaving.reset}>
              {texts.stay}
            </button>
            <button type="button" className="danger solid" onClick={leaving.proceed}>
              {texts.leave}
            </button>
          </DialogActions>
        </Dialog>
      )}
    </section>
  )
}
