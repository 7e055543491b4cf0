/** Sets a password with the token of a mailed link. */
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { Form } from '../../parts/form.tsx'
import { EntryPage } from './entry-page.tsx'
import { linkTexts as texts } from './link.texts.ts'
import { LinkDone, WithLinkToken } from './link-page.tsx'
import { NewPasswordField } from './new-password-field.tsx'

/** The page of a link that resets a password. */
export function ResetPassword() {
  return (
    <WithLinkToken>
      {(token) => (
        <ChosenPassword
          key={token}
          token={token}
          words={{
            title: texts.resetTitle,
            lead: texts.resetLead,
            done: texts.resetDone,
            expired: texts.expired,
          }}
          canRequest
        />
      )}
    </WithLinkToken>
  )
}

/** The page of an invitation. */
export function Invitation() {
  return (
    <WithLinkToken>
      {(token) => (
        <ChosenPassword
          key={token}
          token={token}
          words={{
            title: texts.invitationTitle,
            lead: texts.invitationLead,
            done: texts.invitationDone,
            expired: texts.invitationExpired,
          }}
        />
      )}
    </WithLinkToken>
  )
}

interface ChosenPasswordProps {
  token: string
  words: { title: string; lead: string; done: string; expired: string }
  /** True if the user can request another link without an administrator. */
  canRequest?: boolean
}

function ChosenPassword({ token, words, canRequest = false }: ChosenPasswordProps) {
  const [isDone, setDone] = useState(false)
  if (isDone) return <LinkDone title={words.done} lead={texts.canSignIn} />
  const explain = ({ code }: ApiError) =>
    code === 'link_expired' ? { message: words.expired } : undefined
  return (
    <EntryPage title={words.title} lead={words.lead}>
      <Form
        onSubmit={async (read) => {
          const body = { token, new_password: read('new_password') }
          await take(api.POST('/api/auth/reset-password', { body }))
          setDone(true)
        }}
        submit={texts.set}
        busy={texts.setting}
        explain={explain}
        footer={
          canRequest && (
            <p className="entry-links">
              <Link to="/forgotten">{texts.newLink}</Link>
            </p>
          )
        }
      >
        <NewPasswordField name="new_password" />
      </Form>
    </EntryPage>
  )
}
