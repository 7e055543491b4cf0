import { useState } from 'react'
import type { ReadField } from '../../parts/form.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { SelectField } from '../../parts/form-fields.tsx'
import { showToast } from '../../parts/toasts.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { ROLES, roleNames } from '../../words/roles.ts'
import { actTexts } from './acts.texts.ts'
import { type User, userChanges, useUserSessions } from './data.ts'
import { roleMeanings } from './panel.texts.ts'
import { rolesToGive } from './rights.ts'
import { report } from './use-restore.ts'

const texts = actTexts.role

/** Changes the role of a user. Shows how many sessions this ends, and the permissions of the role. */
export function ChangeRole({ user, onClose }: { user: User; onClose: () => void }) {
  const person = usePersonHere()
  const reload = useReloadClinic()
  const sessions = useUserSessions(user.id).data?.length
  const [chosen, setChosen] = useState<User['role']>()
  const choices = rolesToGive(person, ROLES).filter((role) => role !== user.role)
  const give = (role: User['role']) => userChanges.changeRole(user.id, role)
  const changed = (role: User['role']) => texts.done(user.full_name, roleNames[role])
  const undo = () => void report(give(user.role), changed(user.role)).then(() => reload())
  async function submit(read: ReadField): Promise<void> {
    const role = choices.find((choice) => choice === read('role'))
    if (!role) return
    await give(role)
    showToast(changed(role), undo)
    reload()
  }
  return (
    <FormDialog
      title={texts.submit}
      lead={
        <p>
          <bdi>{user.full_name}</bdi>. {texts.current}: {roleNames[user.role]}.{' '}
          {texts.consequence(sessions, user.role === 'doctor')}
        </p>
      }
      onSubmit={submit}
      onSent={onClose}
      onClose={onClose}
      submit={texts.submit}
      busy={texts.busy}
      draft={`users/${user.id}/role`}
    >
      <SelectField
        name="role"
        label={texts.label}
        required
        focused
        missing={texts.choose}
        hint={chosen && roleMeanings[chosen]}
        defaultValue=""
        onChange={({ target }) => setChosen(choices.find((role) => role === target.value))}
      >
        <option value="">{texts.choose}</option>
        {choices.map((role) => (
          <option key={role} value={role}>
            {roleNames[role]}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  )
}
