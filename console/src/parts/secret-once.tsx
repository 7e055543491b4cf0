import { useState } from 'react'
import { CopyButton } from './copy-button.tsx'
import { Icon } from './icon.tsx'
import { LeaveGuard } from './leave-guard.tsx'
import { saveText } from './save-file.ts'
import { secretOnceTexts as texts } from './secret-once.texts.ts'
import './secret-once.css'

interface SecretOnceProps {
  readonly label: string
  readonly value: string
  /** The name of the file that Save writes. */
  readonly fileName: string
  /** Called when the user has confirmed that the value is stored. */
  readonly onKept: () => void
}

/**
 * Shows a secret that is displayed only once. Until the user confirms that it is stored, leaving the page requires a
 * confirmation.
 */
export function SecretOnce({ label, value, fileName, onKept }: SecretOnceProps) {
  const [isKept, setKept] = useState(false)
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
      <LeaveGuard
        isOn={() => !isKept}
        title={texts.leaveTitle}
        body={texts.leaveBody}
        stay={texts.stay}
      />
    </section>
  )
}
