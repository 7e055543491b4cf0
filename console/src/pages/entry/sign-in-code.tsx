/** The second step of a sign-in: a code of the app, or a recovery code. */
import { useState } from 'react'
import type { ApiError } from '../../api/problem.ts'
import { Form } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { Field } from '../../parts/form-fields.tsx'
import { EntryPage } from './entry-page.tsx'
import { signInRefusals, signInTexts as texts } from './sign-in.texts.ts'

interface SignInCodeProps {
  onSubmit: (code: string) => Promise<unknown>
  onBack: () => void
}

/** Asks for the code. */
export function SignInCode({ onSubmit, onBack }: SignInCodeProps) {
  const [isRecovery, setRecovery] = useState(false)
  return (
    <EntryPage title={texts.codeTitle} lead={texts.codeLead}>
      <Form
        onSubmit={(read) => onSubmit(read('code').trim())}
        submit={texts.submit}
        busy={texts.busy}
        explain={explainRefusal}
        footer={
          <div className="entry-links">
            <button type="button" className="link" onClick={onBack}>
              {texts.back}
            </button>
            <button type="button" className="link" onClick={() => setRecovery(!isRecovery)}>
              {isRecovery ? texts.useAppCode : texts.useRecoveryCode}
            </button>
          </div>
        }
      >
        <Field
          key={String(isRecovery)}
          name="code"
          label={isRecovery ? texts.recoveryCode : texts.code}
          hint={isRecovery ? texts.recoveryHint : texts.codeHint}
          missing={texts.codeMissing}
          inputMode={isRecovery ? 'text' : 'numeric'}
          autoComplete="one-time-code"
          autoCapitalize="characters"
          spellCheck={false}
          maxLength={64}
          data-secret=""
          required
          focused
        />
      </Form>
    </EntryPage>
  )
}

function explainRefusal({ code }: ApiError) {
  if (code === 'invalid_credentials' || code === 'totp_required')
    return faultAt('code', texts.codeWrong)
  const message = signInRefusals[code ?? '']
  return message === undefined ? undefined : { message }
}
