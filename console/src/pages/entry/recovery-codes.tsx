/** Shows the recovery codes once, and lets nobody leave before they are kept. */
import { useBlocker } from '@tanstack/react-router'
import { Form } from '../../parts/form.tsx'
import { CheckField } from '../../parts/form-fields.tsx'
import { session } from '../../session/index.ts'
import { CopyButton } from './copy-button.tsx'
import { EntryPage } from './entry-page.tsx'
import { secondFactorTexts as texts } from './second-factor.texts.ts'

interface RecoveryCodesProps {
  codes: readonly string[]
  onDone: () => Promise<void>
}

/** The page of the codes. */
export function RecoveryCodes({ codes, onDone }: RecoveryCodesProps) {
  useBlocker({
    shouldBlockFn: () => session.state().status === 'signed-in',
    enableBeforeUnload: true,
  })
  return (
    <EntryPage title={texts.codesTitle} lead={texts.codesLead}>
      <ul className="entry-codes" aria-label={texts.codes}>
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="row">
        <CopyButton text={codes.join('\n')} />
        <button type="button" onClick={() => save(`${codes.join('\n')}\n`)}>
          {texts.save}
        </button>
      </div>
      <Form onSubmit={onDone} submit={texts.goOn} busy={texts.goingOn}>
        <CheckField name="kept" label={texts.kept} missing={texts.keptMissing} required />
      </Form>
    </EntryPage>
  )
}

function save(text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = texts.fileName
  link.click()
  URL.revokeObjectURL(url)
}
