/** Requests a link that resets a password. The page shows the same text whether or not the account exists. */
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { Form, type ReadField } from '../../parts/form.tsx'
import { Field } from '../../parts/form-fields.tsx'
import { ClinicField, useClinicReader } from './clinic-field.tsx'
import { EntryPage } from './entry-page.tsx'
import { forgottenTexts as texts } from './forgotten.texts.ts'

/** The page for a forgotten password. */
export function Forgotten() {
  const readClinic = useClinicReader()
  const [sentTo, setSentTo] = useState<string>()

  async function submit(read: ReadField): Promise<void> {
    const email = read('email').trim()
    const subdomain = readClinic(read('subdomain')) ?? null
    await take(api.POST('/api/auth/request-reset', { body: { email, subdomain } }))
    setSentTo(email)
  }

  const back = (
    <p className="entry-links">
      <Link to="/sign-in">{texts.signIn}</Link>
    </p>
  )
  if (sentTo !== undefined)
    return (
      <EntryPage title={texts.doneTitle}>
        <p>{texts.done(sentTo)}</p>
        <p className="muted">{texts.nothing}</p>
        {back}
      </EntryPage>
    )
  return (
    <EntryPage title={texts.title} lead={texts.lead}>
      <Form onSubmit={submit} submit={texts.submit} busy={texts.busy} footer={back}>
        <ClinicField />
        <Field
          name="email"
          label={texts.email}
          missing={texts.emailMissing}
          type="email"
          autoComplete="username"
          maxLength={254}
          required
        />
      </Form>
    </EntryPage>
  )
}
