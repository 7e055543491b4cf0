import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import type { ReadField } from '../../parts/form.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { CheckField, Field, SelectField } from '../../parts/form-fields.tsx'
import { linkToOpen } from '../../parts/list/list-state.ts'
import { readChosenId } from '../../parts/search-combobox-field.tsx'
import { showToast } from '../../parts/toasts.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { usePersonHere } from '../../shell/person.ts'
import { useReloadClinic } from '../../shell/reload.ts'
import { MAX_NAME_LENGTH } from '../../words/limits.ts'
import { ROLES, roleNames } from '../../words/roles.ts'
import { NewPasswordField } from '../entry/new-password-field.tsx'
import { actTexts } from './acts.texts.ts'
import type { User } from './data.ts'
import { DepartmentField } from './department-field.tsx'
import { roleMeanings } from './panel.texts.ts'
import { rolesToGive } from './rights.ts'
import { explainUser, MAX_EMAIL_LENGTH } from './user-form.ts'

const texts = actTexts.form

/** Adds a user to the clinic, by an invitation or with a password, and opens the record. */
export default function AddUser({ onClose }: { onClose: () => void }) {
  const [hasPassword, setHasPassword] = useState(false)
  const navigate = useNavigate()
  return (
    <FormDialog
      title={texts.addTitle}
      onSubmit={useAddUser(hasPassword)}
      onSent={(added) => {
        onClose()
        if (added) void navigate(linkToOpen(added.id))
      }}
      onClose={onClose}
      submit={texts.add}
      busy={texts.adding}
      draft={`users/${useClinicId()}/add`}
      explain={explainUser}
    >
      <Field name="full_name" label={texts.name} maxLength={MAX_NAME_LENGTH} required focused />
      <Field name="email" label={texts.email} type="email" maxLength={MAX_EMAIL_LENGTH} required />
      <RoleField />
      <DepartmentField />
      <CheckField name="can_see_all_patients" label={texts.seesAll} />
      <FirstSignIn hasPassword={hasPassword} onChange={setHasPassword} />
      {hasPassword && (
        <>
          <NewPasswordField name="password" label={texts.password} />
          <CheckField
            name="must_change_password"
            label={actTexts.password.mustChange}
            defaultChecked
          />
        </>
      )}
    </FormDialog>
  )
}

function useAddUser(hasPassword: boolean) {
  const clinicId = useClinicId()
  const reload = useReloadClinic()
  return async (read: ReadField): Promise<User | undefined> => {
    const role = ROLES.find((choice) => choice === read('role'))
    if (!role) return undefined
    const body = {
      tenant_id: clinicId,
      full_name: read('full_name'),
      email: read('email'),
      role,
      department_id: readChosenId(read('department_id')),
      can_see_all_patients: read('can_see_all_patients') === 'on',
      ...(hasPassword && {
        password: read('password'),
        must_change_password: read('must_change_password') === 'on',
      }),
    }
    const added = await take(api.POST('/api/admin/users', { body }))
    showToast(hasPassword ? texts.added(added.full_name) : texts.invited(added.email))
    reload()
    return added
  }
}

function RoleField() {
  const [chosen, setChosen] = useState<User['role']>()
  const choices = rolesToGive(usePersonHere(), ROLES)
  return (
    <SelectField
      name="role"
      label={texts.role}
      required
      missing={texts.chooseRole}
      hint={chosen && roleMeanings[chosen]}
      defaultValue=""
      onChange={({ target }) => setChosen(choices.find((role) => role === target.value))}
    >
      <option value="">{texts.chooseRole}</option>
      {choices.map((role) => (
        <option key={role} value={role}>
          {roleNames[role]}
        </option>
      ))}
    </SelectField>
  )
}

interface FirstSignInProps {
  readonly hasPassword: boolean
  readonly onChange: (hasPassword: boolean) => void
}

function FirstSignIn({ hasPassword, onChange }: FirstSignInProps) {
  return (
    <fieldset className="first-sign-in">
      <legend>{texts.start}</legend>
      {[false, true].map((choice) => (
        <label key={String(choice)} className="check">
          <input
            type="radio"
            name="first_sign_in"
            checked={choice === hasPassword}
            onChange={() => onChange(choice)}
          />
          {choice ? texts.byPassword : texts.byInvitation}
        </label>
      ))}
    </fieldset>
  )
}
