/** Registers an account in a clinic. */
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, type Schemas, take } from '../../api/client.ts'
import type { ApiError } from '../../api/problem.ts'
import { publicDepartmentsQuery } from '../../api/welcome.ts'
import { Form, type ReadField } from '../../parts/form.tsx'
import { Field, SelectField } from '../../parts/form-fields.tsx'
import { roleNames } from '../../words/roles.ts'
import { lastClinic } from './clinic.ts'
import { ClinicField, useClinicReader, useWelcome } from './clinic-field.tsx'
import { EntryPage } from './entry-page.tsx'
import { NewPasswordField } from './new-password-field.tsx'
import { registerTexts as texts } from './register.texts.ts'

type Profile = Schemas['Profile']

const OFFERED_ROLES = ['doctor', 'nurse', 'receptionist'] as const

/** The registration page, followed by a page that explains the next step. */
export function Register() {
  const [profile, setProfile] = useState<Profile>()
  if (profile) return <Registered profile={profile} />
  return (
    <EntryPage title={texts.title} lead={texts.lead}>
      <RegisterForm onDone={setProfile} />
    </EntryPage>
  )
}

function RegisterForm({ onDone }: { onDone: (profile: Profile) => void }) {
  const { tenant, demo } = useWelcome()
  const readClinic = useClinicReader()
  const [settled, setSettled] = useState(lastClinic() || (demo?.subdomain ?? ''))

  async function submit(read: ReadField): Promise<void> {
    const department = Number(read('department_id'))
    const body = {
      email: read('email').trim(),
      password: read('password'),
      full_name: read('full_name').trim(),
      role: OFFERED_ROLES.find((role) => role === read('role')) ?? 'receptionist',
      subdomain: readClinic(read('subdomain')) ?? null,
      department_id: department > 0 ? department : null,
    } as const
    onDone(await take(api.POST('/api/auth/register', { body })))
  }

  return (
    <Form
      onSubmit={submit}
      submit={texts.submit}
      busy={texts.busy}
      explain={explainRefusal}
      footer={
        <p className="entry-links">
          <Link to="/sign-in">{texts.signIn}</Link>
        </p>
      }
    >
      <ClinicField required onSettle={setSettled} />
      <DepartmentField subdomain={tenant?.subdomain ?? settled} />
      <RoleField />
      <Field
        name="full_name"
        label={texts.name}
        missing={texts.nameMissing}
        autoComplete="name"
        maxLength={200}
        required
      />
      <Field
        name="email"
        label={texts.email}
        missing={texts.emailMissing}
        type="email"
        autoComplete="username"
        maxLength={254}
        required
      />
      <NewPasswordField name="password" label={texts.password} />
    </Form>
  )
}

function DepartmentField({ subdomain }: { subdomain: string }) {
  const { data = [] } = useQuery(publicDepartmentsQuery(subdomain))
  return (
    <SelectField
      // Clears the choice when the clinic changes, because each clinic has its own departments.
      key={subdomain}
      name="department_id"
      label={texts.department}
      hint={subdomain === '' && texts.departmentHint}
    >
      <option value="">{texts.noDepartment}</option>
      {data.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  )
}

function RoleField() {
  return (
    <SelectField
      name="role"
      label={texts.role}
      hint={texts.roleHint}
      missing={texts.roleMissing}
      required
      defaultValue=""
    >
      <option value="">{texts.chooseRole}</option>
      {OFFERED_ROLES.map((role) => (
        <option key={role} value={role}>
          {roleNames[role]}
        </option>
      ))}
    </SelectField>
  )
}

function Registered({ profile }: { profile: Profile }) {
  const isMailed = useWelcome().password_reset_available && !profile.email_verified
  return (
    <EntryPage title={profile.status === 'pending' ? texts.doneTitle : texts.activeTitle}>
      <ol className="entry-steps">
        {isMailed && <li>{texts.confirm(profile.email)}</li>}
        {profile.status === 'pending' && <li>{texts.approval}</li>}
        <li>{texts.lastStep}</li>
      </ol>
      <p>
        <Link to="/sign-in">{texts.goToSignIn}</Link>
      </p>
    </EntryPage>
  )
}

function explainRefusal({ code, status }: ApiError) {
  const at = (field: string, message: string) => ({
    message: undefined,
    faults: [{ field, message }],
  })
  if (code === 'email_taken') return at('email', texts.taken)
  if (code === 'registration_closed') return { message: texts.closed }
  return status === 404 ? at('subdomain', texts.unknownClinic) : undefined
}
