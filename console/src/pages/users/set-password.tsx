import { api, take } from '../../api/client.ts'
import type { ReadField } from '../../parts/form.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { CheckField } from '../../parts/form-fields.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { NewPasswordField } from '../entry/new-password-field.tsx'
import { actTexts } from './acts.texts.ts'
import { type User, useUserSessions } from './data.ts'

const texts = actTexts.password

/** Sets the password of a user. */
export function SetPassword({ user, onClose }: { user: User; onClose: () => void }) {
  const reload = useReloadClinic()
  const sessions = useUserSessions(user.id).data?.length
  async function submit(read: ReadField): Promise<void> {
    const body = {
      password: read('password'),
      must_change_password: read('must_change_password') === 'on',
    }
    const params = { path: { user_id: user.id } }
    await take(api.PUT('/api/admin/users/{user_id}/password', { params, body }))
    showToast(texts.done(user.full_name))
    reload()
  }
  return (
    <FormDialog
      title={texts.submit}
      lead={
        <p>
          <bdi>{user.full_name}</bdi>. {texts.consequence(sessions)}
        </p>
      }
      onSubmit={submit}
      onSent={onClose}
      onClose={onClose}
      submit={texts.submit}
      busy={texts.busy}
    >
      <NewPasswordField name="password" />
      <CheckField name="must_change_password" label={texts.mustChange} defaultChecked />
    </FormDialog>
  )
}
