/** Shows the recovery codes once. The user can leave the page after confirming that the codes are saved. */
import { useBlocker } from '@tanstack/react-router'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Form } from '../../parts/form.tsx'
import { CheckField } from '../../parts/form-fields.tsx'
import { saveText } from '../../parts/save-file.ts'
import { session } from '../../session/index.ts'
import { EntryPage } from './entry-page.tsx'
import { secondFactorTexts as texts } from './second-factor.texts.ts'

interface RecoveryCodesProps {
  codes: readonly string[]
  onDone: () => Promise<void>
}

/** The page of the recovery codes. */
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
        <button type="button" onClick={() => saveText(`${codes.join('\n')}\n`, texts.fileName)}>
          {texts.save}
        </button>
      </div>
      <Form onSubmit={onDone} submit={texts.goOn} busy={texts.goingOn}>
        <CheckField name="kept" label={texts.kept} missing={texts.keptMissing} required />
      </Form>
    </EntryPage>
  )
}
