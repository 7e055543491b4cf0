import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { Form, type ReadField } from '../../parts/form.tsx'
import { faultAt } from '../../parts/form-faults.ts'
import { PasswordField } from '../../parts/form-fields.tsx'
import { useReturnFocus } from '../../parts/return-focus.ts'
import { showToast } from '../../parts/toasts.ts'
import { session } from '../../session/index.ts'
import { commonTexts } from '../../words/common.texts.ts'
import { NewPasswordField } from '../entry/new-password-field.tsx'
import { accountTexts } from './account.texts.ts'
import { useReloadAccount } from './data.ts'

const texts = accountTexts.password

/** Changes the password. The service then ends every session, so the form signs the user in again. */
export function Password() {
  const [isOpen, setOpen] = useState(false)
  const opener = useReturnFocus(isOpen)
  return (
    <section className="card" aria-labelledby="password">
      <header>
        <h2 id="password">{texts.title}</h2>
        {isOpen && (
          <button type="button" className="link" onClick={() => setOpen(false)}>
            {commonTexts.cancel}
          </button>
        )}
      </header>
      <div className="card-body stack">
        <p className="muted">{texts.lead}</p>
        {isOpen ? (
          <PasswordForm onDone={() => setOpen(false)} />
        ) : (
          <div className="row">
            <button ref={opener} type="button" onClick={() => setOpen(true)}>
              {texts.open}
            </button>
          </div>
        )}
      </div>
    </section>
  )
}

function PasswordForm({ onDone }: { onDone: () => void }) {
  const reload = useReloadAccount()
  async function submit(read: ReadField): Promise<void> {
    const body = { current_password: read('current_password'), new_password: read('new_password') }
    await take(api.PUT('/api/users/me/password', { body }))
    if (!(await session.signInAgain(body.new_password))) {
      session.signOut('password-changed')
      return
    }
    showToast(texts.done)
    onDone()
    await reload()
  }
  return (
    <Form onSubmit={submit} submit={texts.submit} busy={texts.busy} explain={explain}>
      <PasswordField
        name="current_password"
        label={texts.current}
        missing={texts.currentMissing}
        autoComplete="current-password"
        focused
      />
      <NewPasswordField name="new_password" />
    </Form>
  )
}

function explain({ code }: ApiError) {
  return code === 'wrong_password' && faultAt('current_password', texts.wrong)
}
