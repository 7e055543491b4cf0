/** Sets up the second factor that a clinic demands. Until then the session can do nothing else. */
import { useQuery } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Schemas, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { Form } from '../../parts/form.tsx'
import { Field, PasswordField } from '../../parts/form-fields.tsx'
import { session } from '../../session/index.ts'
import { hrefOfNext } from '../../session/next-page.ts'
import { EntryPage } from './entry-page.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { secondFactorTexts as texts } from './second-factor.texts.ts'

type Setup = Schemas['TotpSetup']

const setUp = (password: string | null) =>
  take(api.POST('/api/auth/totp/setup', { body: { password } }))

/** The page of the forced set-up: app and code, then the recovery codes. */
export function SecondFactor() {
  const router = useRouter()
  const { next } = useSearch({ from: '/person/second-factor' })
  const [confirmed, setConfirmed] = useState<Setup>()
  const [codes, setCodes] = useState<readonly string[]>()
  // Shortly after a sign-in the password is not needed again. The secret leaves the cache with the page.
  const offered = useQuery({
    queryKey: ['second-factor-setup'],
    queryFn: () => setUp(null),
    retry: (_count, error) => error instanceof ApiError && error.isUnavailable,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const setup = confirmed ?? offered.data

  async function goOn(): Promise<void> {
    // The renewed session may do everything.
    await session.renew()
    router.history.replace(hrefOfNext(next), undefined, { ignoreBlocker: true })
  }

  if (codes) return <RecoveryCodes codes={codes} onDone={goOn} />
  if (setup) return <Enrolment setup={setup} onEnabled={setCodes} />
  if (isPasswordNeeded(offered.error)) return <Confirmation onConfirmed={setConfirmed} />
  return (
    <EntryPage title={texts.title} lead={texts.lead}>
      {offered.error ? (
        <p role="alert" className="form-fault">
          {offered.error.message}
        </p>
      ) : (
        <p role="status" className="muted">
          {texts.preparing}
        </p>
      )}
      <SignOutLink />
    </EntryPage>
  )
}

const isPasswordNeeded = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 'wrong_password'

function Confirmation({ onConfirmed }: { onConfirmed: (setup: Setup) => void }) {
  return (
    <EntryPage title={texts.title} lead={texts.passwordLead}>
      <Form
        onSubmit={async (read) => onConfirmed(await setUp(read('password')))}
        submit={texts.continue}
        busy={texts.checking}
        explain={(error) => isPasswordNeeded(error) && faultAt('password', texts.wrongPassword)}
        footer={<SignOutLink />}
      >
        <PasswordField
          name="password"
          label={texts.password}
          missing={texts.passwordMissing}
          autoComplete="current-password"
        />
      </Form>
    </EntryPage>
  )
}

interface EnrolmentProps {
  setup: Setup
  onEnabled: (codes: readonly string[]) => void
}

function Enrolment({ setup, onEnabled }: EnrolmentProps) {
  return (
    <EntryPage title={texts.title} lead={texts.lead}>
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
        footer={<SignOutLink />}
      >
        <Field
          name="code"
          label={texts.code}
          hint={texts.codeHint}
          missing={texts.codeMissing}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={64}
          data-secret=""
          required
        />
      </Form>
    </EntryPage>
  )
}

/** Returns an address that shows the SVG. The policy refuses markup that a script inserts. */
const imageOf = (svg: string): string => `data:image/svg+xml,${encodeURIComponent(svg)}`

const faultAt = (field: string, message: string) => ({
  message: undefined,
  faults: [{ field, message }],
})

function SignOutLink() {
  return (
    <p className="entry-links">
      <button type="button" className="link" onClick={() => session.signOut('chosen')}>
        {texts.signOut}
      </button>
    </p>
  )
}
