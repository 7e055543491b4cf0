/** Connects an authenticator app: shows the QR code and the key as text, and asks for the first code of the app. */
import type { ReactNode } from 'react'
import { api, type Schemas, take } from '../../api/client.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Form } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { Field } from '../../parts/form-fields.tsx'
import { secondFactorTexts as texts } from './second-factor.texts.ts'

interface AppCodeStepProps {
  readonly setup: Schemas['TotpSetup']
  readonly codeHint?: string
  /** Called with the recovery codes once the second factor is on. */
  readonly onEnabled: (codes: readonly string[]) => void
  readonly footer?: ReactNode
  /** True if the code field receives the focus when the step is shown. */
  readonly focused?: boolean
}

/** Shows the key and turns the second factor on. */
export function AppCodeStep({
  setup,
  codeHint = texts.codeHint,
  onEnabled,
  footer,
  focused = false,
}: AppCodeStepProps) {
  return (
    <>
      <ol className="entry-steps">
        <li>{texts.scan}</li>
      </ol>
      <img className="entry-qr" alt={texts.qr} src={imageOf(setup.qr_svg)} />
      <p className="entry-secret">
        <span>{texts.secret}</span>
        <code>{setup.secret.replace(/.{4}(?=.)/g, '$& ')}</code>
        <CopyButton text={setup.secret} />
      </p>
      <ol className="entry-steps" start={2}>
        <li>{texts.enter}</li>
      </ol>
      <Form
        onSubmit={async (read) => {
          const body = { code: read('code').trim() }
          onEnabled((await take(api.POST('/api/auth/totp/enable', { body }))).recovery_codes)
        }}
        submit={texts.enable}
        busy={texts.enabling}
        explain={({ code }) => code === 'wrong_code' && faultAt('code', texts.codeWrong)}
        footer={footer}
      >
        <Field
          name="code"
          label={texts.code}
          hint={codeHint}
          missing={texts.codeMissing}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={64}
          data-secret=""
          required
          focused={focused}
        />
      </Form>
    </>
  )
}

/** Returns a data URL of the SVG. The content security policy blocks SVG markup that a script inserts. */
const imageOf = (svg: string): string => `data:image/svg+xml,${encodeURIComponent(svg)}`
