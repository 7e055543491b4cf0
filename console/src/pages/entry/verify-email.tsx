/** Confirms an e-mail address with the token of a mailed link and the password of the account. */
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { Form } from '../../parts/form.tsx'
import { PasswordField } from '../../parts/form-fields.tsx'
import { EntryPage } from './entry-page.tsx'
import { linkTexts as texts } from './link.texts.ts'
import { LinkDone, WithLinkToken } from './link-page.tsx'

/** The page of a link that confirms an address. */
export function VerifyEmail() {
  return <WithLinkToken>{(token) => <VerifyForm key={token} token={token} />}</WithLinkToken>
}

function VerifyForm({ token }: { token: string }) {
  const [isDone, setDone] = useState(false)
  if (isDone) return <LinkDone title={texts.verified} lead={texts.verifiedLead} />
  return (
    <EntryPage title={texts.verifyTitle} lead={texts.verifyLead}>
      <Form
        onSubmit={async (read) => {
          const init = { params: { query: { token } }, body: { password: read('password') } }
          await take(api.POST('/api/auth/verify-email', init))
          setDone(true)
        }}
        submit={texts.confirm}
        busy={texts.confirming}
        explain={explainRefusal}
      >
        <PasswordField
          name="password"
          label={texts.password}
          missing={texts.passwordMissing}
          autoComplete="current-password"
          maxLength={1000}
        />
      </Form>
    </EntryPage>
  )
}

function explainRefusal({ code }: ApiError) {
  if (code === 'link_expired') return { message: texts.verifyExpired }
  if (code !== 'wrong_password') return undefined
  return { message: undefined, faults: [{ field: 'password', message: texts.wrongPassword }] }
}
