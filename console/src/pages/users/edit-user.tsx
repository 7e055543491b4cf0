import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import type { ReadField } from '../../parts/form.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { CheckField, Field } from '../../parts/form-fields.tsx'
import { readChosenId } from '../../parts/search-combobox-field.tsx'
import { showToast } from '../../parts/toasts.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { MAX_NAME_LENGTH } from '../../words/limits.ts'
import { actTexts } from './acts.texts.ts'
import { type User, useUserSessions } from './data.ts'
import { DepartmentField } from './department-field.tsx'
import { explainUser, MAX_EMAIL_LENGTH } from './user-form.ts'

const texts = actTexts.form

interface EditUserProps {
  /** The user as in the latest response. */
  readonly user: User
  readonly onClose: () => void
}

/** Changes the details of a user. Sends only changed fields, so that changes by other people are kept. */
export function EditUser({ user: latest, onClose }: EditUserProps) {
  // Compares the fields with the user as it was when the form opened. Comparing with a later version would undo a
  // colleague's change.
  const [user] = useState(latest)
  const reload = useReloadClinic()
  const isOwn = usePersonHere().user_id === user.id
  const sessions = useUserSessions(user.id).data?.length
  const seesPatients = user.role !== 'superadmin' && user.role !== 'admin'
  async function submit(read: ReadField): Promise<void> {
    const wanted = {
      full_name: read('full_name'),
      email: read('email'),
      department_id: readChosenId(read('department_id')),
      ...(seesPatients && { can_see_all_patients: read('can_see_all_patients') === 'on' }),
    }
    const body = changesOf(user, wanted)
    const params = { path: { user_id: user.id } }
    if (Object.keys(body).length === 0) return showToast(texts.unchanged)
    await take(api.PUT('/api/admin/users/{user_id}', { params, body }))
    showToast(texts.saved(wanted.full_name))
    reload()
  }
  return (
    <FormDialog
      title={texts.editTitle(user.full_name)}
      onSubmit={submit}
      onSent={onClose}
      onClose={onClose}
      submit={texts.save}
      busy={texts.saving}
      draft={`users/${user.id}/edit`}
      explain={explainUser}
    >
      <Field
        name="full_name"
        label={texts.name}
        defaultValue={user.full_name}
        maxLength={MAX_NAME_LENGTH}
        required
        focused
      />
      <Field
        name="email"
        label={texts.email}
        type="email"
        hint={texts.emailHint(isOwn, sessions)}
        defaultValue={user.email}
        maxLength={MAX_EMAIL_LENGTH}
        required
      />
      <DepartmentField
        value={user.department_id ?? undefined}
        valueName={user.department_name ?? undefined}
      />
      {seesPatients && (
        <CheckField
          name="can_see_all_patients"
          label={texts.seesAll}
          defaultChecked={user.can_see_all_patients}
        />
      )}
    </FormDialog>
  )
}

function changesOf<Wanted extends Partial<User>>(user: User, wanted: Wanted): Partial<Wanted> {
  const now: Readonly<Record<string, unknown>> = user
  const changed = Object.entries(wanted).filter(([field, value]) => value !== now[field])
  return Object.fromEntries(changed) as Partial<Wanted>
}
