/** Replaces a password that someone else has set. Until then the session allows nothing else. */
import { useRouter, useSearch } from '@tanstack/react-router'
import { api, take } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { Form, type ReadField } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { PasswordField } from '../../parts/form-fields.tsx'
import { session } from '../../session/index.ts'
import { hrefOfNext } from '../../session/next-page.ts'
import { EntryPage } from './entry-page.tsx'
import { newPasswordTexts as texts } from './new-password.texts.ts'
import { NewPasswordField } from './new-password-field.tsx'

/** The page where the user must change the password. */
export function NewPassword() {
  const router = useRouter()
  const { next } = useSearch({ from: '/person/new-password' })

  async function submit(read: ReadField): Promise<void> {
    const body = { current_password: read('current_password'), new_password: read('new_password') }
    await take(api.PUT('/api/users/me/password', { body }))
    // Signs in again, because the change has ended every session, including this one.
    if (!(await session.signInAgain(body.new_password))) session.signOut('password-changed')
    else router.history.replace(hrefOfNext(next))
  }

  return (
    <EntryPage title={texts.title} lead={texts.lead}>
      <Form
        onSubmit={submit}
        submit={texts.submit}
        busy={texts.busy}
        explain={explainRefusal}
        footer={
          <p className="entry-links">
            <button type="button" className="link" onClick={() => session.signOut('chosen')}>
              {texts.signOut}
            </button>
          </p>
        }
      >
        <PasswordField
          name="current_password"
          label={texts.current}
          missing={texts.currentMissing}
          autoComplete="current-password"
        />
        <NewPasswordField name="new_password" />
      </Form>
    </EntryPage>
  )
}

function explainRefusal({ code }: ApiError) {
  return code === 'wrong_password' && faultAt('current_password', texts.wrong)
}
