import { useState } from 'react'
import { api, type Schemas, take } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Form } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { PasswordField } from '../../parts/form-fields.tsx'
import { useReturnFocus } from '../../parts/return-focus.ts'
import { SecretOnce } from '../../parts/secret-once.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { showToast } from '../../parts/toasts.ts'
import { session } from '../../session/index.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { AppCodeStep } from '../entry/app-code-step.tsx'
import { accountTexts } from './account.texts.ts'
import { useReloadAccount } from './data.ts'

const texts = accountTexts.factor

type Setup = Schemas['TotpSetup']

/** The progress of the set-up. */
type Step =
  | { readonly at: 'start' | 'password' | 'removal' }
  | { readonly at: 'code'; readonly setup: Setup }
  | { readonly at: 'codes'; readonly codes: readonly string[] }

const START: Step = { at: 'start' }

/** Sets the second factor up or removes it. */
export function SecondFactor({ isOn }: { isOn: boolean }) {
  const [step, setStep] = useState<Step>(START)
  const reload = useReloadAccount()
  const opener = useReturnFocus(step.at !== 'start' && step.at !== 'removal')
  const isSettingUp = step.at === 'password' || step.at === 'code'
  const finish = async () => {
    setStep(START)
    showToast(texts.done)
    await reload()
  }
  return (
    <section className="card" aria-labelledby="factor">
      <header>
        <h2 id="factor">{texts.title}</h2>
        {isSettingUp ? (
          <button type="button" className="link" onClick={() => setStep(START)}>
            {commonTexts.cancel}
          </button>
        ) : (
          <StatusBadge kind="factor" state={isOn || step.at === 'codes' ? 'on' : 'off'} />
        )}
      </header>
      <div className="card-body stack">
        <p className="muted">{step.at === 'codes' ? texts.codesLead : texts.lead}</p>
        {step.at === 'password' && (
          <PasswordStep onDone={(setup) => setStep({ at: 'code', setup })} />
        )}
        {step.at === 'code' && (
          <AppCodeStep
            setup={step.setup}
            codeHint={texts.codeHint}
            onEnabled={(codes) => setStep({ at: 'codes', codes })}
            focused
          />
        )}
        {step.at === 'codes' && (
          <SecretOnce
            label={texts.codes}
            value={step.codes.join('\n')}
            fileName={texts.fileName}
            onKept={() => void finish()}
          />
        )}
        {(step.at === 'start' || step.at === 'removal') && (
          <div className="row">
            <button
              ref={opener}
              type="button"
              className={isOn ? 'danger' : undefined}
              onClick={() => setStep({ at: isOn ? 'removal' : 'password' })}
            >
              {isOn ? texts.remove : texts.setUp}
            </button>
          </div>
        )}
        {step.at === 'removal' && <Removal onCancel={() => setStep(START)} />}
      </div>
    </section>
  )
}

function PasswordStep({ onDone }: { onDone: (setup: Setup) => void }) {
  return (
    <Form
      onSubmit={async (read) => {
        const body = { password: read('password') }
        onDone(await take(api.POST('/api/auth/totp/setup', { body })))
      }}
      submit={texts.continue}
      busy={texts.checking}
      explain={explainPassword}
    >
      <OwnPasswordField />
    </Form>
  )
}

function Removal({ onCancel }: { onCancel: () => void }) {
  return (
    <Dialog title={texts.remove} alert onClose={onCancel}>
      <div className="stack">
        <p>{texts.removeBody}</p>
        <Form
          onSubmit={async (read) => {
            await take(api.POST('/api/auth/totp/disable', { body: { password: read('password') } }))
            session.signOut('chosen')
          }}
          submit={texts.remove}
          busy={texts.checking}
          explain={explainPassword}
          footer={
            <button type="button" className="wide" onClick={onCancel}>
              {commonTexts.cancel}
            </button>
          }
        >
          <OwnPasswordField />
        </Form>
      </div>
    </Dialog>
  )
}

function OwnPasswordField() {
  return (
    <PasswordField
      name="password"
      label={texts.password}
      missing={texts.passwordMissing}
      autoComplete="current-password"
      focused
    />
  )
}

const explainPassword = ({ code }: ApiError) =>
  code === 'wrong_password' && faultAt('password', texts.wrongPassword)
