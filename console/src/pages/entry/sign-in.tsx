/** Signs a person in: clinic, e-mail and password first, then the code of the second factor. */
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { sawRestore } from '../../api/availability.ts'
import { ApiError } from '../../api/problem.ts'
import type { Welcome } from '../../api/welcome.ts'
import { formTexts } from '../../parts/form.texts.ts'
import { Form, type ReadField } from '../../parts/form.tsx'
import { troubleOf } from '../../parts/form-faults.ts'
import { Field, PasswordField } from '../../parts/form-fields.tsx'
import { session, useSessionState } from '../../session/index.ts'
import type { Credentials } from '../../session/session.ts'
import { roleNames } from '../../words/roles.ts'
import { rememberClinic } from './clinic.ts'
import { ClinicField, useClinicReader, useWelcome } from './clinic-field.tsx'
import { EntryPage, Notice } from './entry-page.tsx'
import { ResendLink } from './resend-link.tsx'
import { signedOutNotice, signInRefusals, signInTexts as texts } from './sign-in.texts.ts'
import { SignInCode } from './sign-in-code.tsx'

/** The sign-in page. The router leaves the page when a user is signed in. */
export function SignIn() {
  const welcome = useWelcome()
  /** The accepted credentials of a user whose code is still missing. */
  const [accepted, setAccepted] = useState<Credentials>()

  async function signIn(credentials: Credentials): Promise<void> {
    await session.signIn(credentials)
    rememberClinic(credentials.subdomain ?? undefined)
  }

  async function signInOrAskForCode(credentials: Credentials): Promise<void> {
    try {
      await signIn(credentials)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'totp_required') throw error
      setAccepted(credentials)
    }
  }

  if (accepted)
    return (
      <SignInCode
        onSubmit={(code) => signIn({ ...accepted, totp_code: code })}
        onBack={() => setAccepted(undefined)}
      />
    )
  return (
    <EntryPage
      title={texts.title(welcome.tenant?.name)}
      aside={welcome.demo && <DemoPeople demo={welcome.demo} onChoose={signInOrAskForCode} />}
    >
      <Notices />
      <SignInForm welcome={welcome} onSubmit={signInOrAskForCode} />
    </EntryPage>
  )
}

function Notices() {
  const state = useSessionState()
  const [isAfterRestore] = useState(() => sawRestore())
  const notice =
    state.status === 'signed-out' &&
    signedOutNotice(state.reason, state.last?.idle_minutes ?? 0, isAfterRestore)
  return (
    <>
      {notice && <Notice>{notice}</Notice>}
      {!isSecureContext && <Notice tone="attention">{texts.insecure}</Notice>}
    </>
  )
}

interface SignInFormProps {
  welcome: Welcome
  onSubmit: (credentials: Credentials) => Promise<void>
}

function SignInForm({ welcome, onSubmit }: SignInFormProps) {
  const readClinic = useClinicReader()
  const [unverified, setUnverified] = useState<Credentials>()

  const credentialsOf = (read: ReadField): Credentials => {
    const subdomain = readClinic(read('subdomain'))
    return {
      email: read('email').trim(),
      password: read('password'),
      ...(subdomain !== undefined && { subdomain }),
    }
  }

  async function submit(read: ReadField): Promise<void> {
    const credentials = credentialsOf(read)
    setUnverified(undefined)
    try {
      await onSubmit(credentials)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'email_unverified') setUnverified(credentials)
      throw error
    }
  }

  return (
    <Form
      onSubmit={submit}
      submit={texts.submit}
      busy={texts.busy}
      explain={explainRefusal}
      footer={<SignInLinks welcome={welcome} />}
    >
      {unverified && <ResendLink email={unverified.email} subdomain={unverified.subdomain} />}
      <ClinicField />
      <Field
        name="email"
        label={texts.email}
        missing={texts.emailMissing}
        type="text"
        inputMode="email"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={254}
        required
      />
      <PasswordField
        name="password"
        label={texts.password}
        missing={texts.passwordMissing}
        autoComplete="current-password"
      />
    </Form>
  )
}

function explainRefusal({ code }: ApiError): { message: string } | undefined {
  const message = signInRefusals[code ?? '']
  return message === undefined ? undefined : { message }
}

function SignInLinks({ welcome }: { welcome: Welcome }) {
  if (!welcome.password_reset_available && !welcome.registration_available) return null
  return (
    <p className="entry-links">
      {welcome.password_reset_available && <Link to="/forgotten">{texts.forgotten}</Link>}
      {welcome.registration_available && <Link to="/register">{texts.register}</Link>}
    </p>
  )
}

/** Returns the message for a sign-in that failed without a form, such as with a demo account. */
function wordsOf(error: Error): string | undefined {
  if (!(error instanceof ApiError)) return formTexts.failed
  return explainRefusal(error)?.message ?? troubleOf(error, NO_FIELDS).message
}

const NO_FIELDS: ReadonlySet<string> = new Set()

interface DemoPeopleProps {
  demo: NonNullable<Welcome['demo']>
  onChoose: (credentials: Credentials) => Promise<void>
}

function DemoPeople({ demo, onChoose }: DemoPeopleProps) {
  const choice = useMutation({ mutationFn: onChoose })
  const { subdomain, password, people } = demo
  return (
    <section className="entry-card quiet" aria-labelledby="demo-title">
      <h2 id="demo-title">{texts.demoTitle}</h2>
      <p className="muted">{texts.demoLead}</p>
      <div className="entry-people">
        {people.map(({ email, full_name, role }) => (
          <button
            key={email}
            type="button"
            title={email}
            aria-busy={choice.isPending && choice.variables.email === email}
            onClick={() => !choice.isPending && choice.mutate({ email, password, subdomain })}
          >
            {full_name} <span className="muted">{roleNames[role]}</span>
          </button>
        ))}
      </div>
      <p role="alert" className="form-fault">
        {choice.error && wordsOf(choice.error)}
      </p>
    </section>
  )
}
