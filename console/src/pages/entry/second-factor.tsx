/** Sets up the second factor that a clinic requires. Until then the session allows nothing else. */
import { useQuery } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Schemas, take } from '../../api/client.ts'
import { ApiError } from '../../api/problem.ts'
import { Form } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { PasswordField } from '../../parts/form-fields.tsx'
import { session } from '../../session/index.ts'
import { hrefOfNext } from '../../session/next-page.ts'
import { AppCodeStep } from './app-code-step.tsx'
import { EntryPage } from './entry-page.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'
import { secondFactorTexts as texts } from './second-factor.texts.ts'

type Setup = Schemas['TotpSetup']

const setUp = (password: string | null) =>
  take(api.POST('/api/auth/totp/setup', { body: { password } }))

/** The page where the user must set up a second factor: first the app and its code, then the recovery codes. */
export function SecondFactor() {
  const router = useRouter()
  const { next } = useSearch({ from: '/person/second-factor' })
  const [confirmed, setConfirmed] = useState<Setup>()
  const [codes, setCodes] = useState<readonly string[]>()
  // Shortly after a sign-in the service asks for no password. The secret is removed from the cache when the page
  // closes.
  const offered = useQuery({
    queryKey: ['second-factor-setup'],
    queryFn: () => setUp(null),
    retry: (_count, error) => error instanceof ApiError && error.isUnavailable,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const setup = confirmed ?? offered.data

  async function goOn(): Promise<void> {
    // Renews the access token, because the new token gives the session its full rights.
    await session.renew()
    router.history.replace(hrefOfNext(next), undefined, { ignoreBlocker: true })
  }

  if (codes) return <RecoveryCodes codes={codes} onDone={goOn} />
  if (setup)
    return (
      <EntryPage title={texts.title} lead={texts.lead}>
        <AppCodeStep setup={setup} onEnabled={setCodes} footer={<SignOutLink />} />
      </EntryPage>
    )
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

function SignOutLink() {
  return (
    <p className="entry-links">
      <button type="button" className="link" onClick={() => session.signOut('chosen')}>
        {texts.signOut}
      </button>
    </p>
  )
}
