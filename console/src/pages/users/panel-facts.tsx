import { Ago } from '../../parts/ago.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { roleNames } from '../../words/roles.ts'
import type { User } from './data.ts'
import { panelTexts, roleMeanings } from './panel.texts.ts'
import { usersTexts } from './users.texts.ts'

/** The details of a user. */
export function ProfileTab({ user }: { user: User }) {
  const texts = panelTexts.profile
  return (
    <dl className="facts user-facts">
      <dt>{texts.status}</dt>
      <dd>
        <StatusBadge kind="user" state={user.status} />
      </dd>
      <dt>{texts.name}</dt>
      <dd>
        <bdi>{user.full_name}</bdi>
      </dd>
      <dt>{texts.email}</dt>
      <dd>
        <bdi>{user.email}</bdi>
      </dd>
      <dt>{texts.department}</dt>
      <dd>
        <bdi>{user.department_name ?? usersTexts.noDepartment}</bdi>
      </dd>
      <dt>{texts.lastSignIn}</dt>
      <dd>
        <Ago at={user.last_login_at} />
      </dd>
      <dt>{texts.created}</dt>
      <dd>
        <Ago at={user.created_at} />
      </dd>
    </dl>
  )
}

/** The permissions of a user, and the ways in which the user can sign in. */
export function AccessTab({ user }: { user: User }) {
  const texts = panelTexts.access
  return (
    <dl className="facts user-facts">
      <dt>{texts.role}</dt>
      <dd>
        {roleNames[user.role]}
        <p className="small muted">{roleMeanings[user.role]}</p>
      </dd>
      <dt>{texts.sees}</dt>
      <dd>{patientsOf(user)}</dd>
      <dt>{texts.factor}</dt>
      <dd>
        <StatusBadge kind="factor" state={user.totp_enabled ? 'on' : 'off'} />
      </dd>
      <dt>{texts.confirmed}</dt>
      <dd>{user.email_verified ? texts.yes : texts.notYet}</dd>
      <dt>{texts.password}</dt>
      <dd>{user.must_change_password ? texts.mustChange : texts.notDue}</dd>
    </dl>
  )
}

function patientsOf({ role, can_see_all_patients, department_name }: User): string {
  const texts = panelTexts.access
  if (role === 'superadmin') return texts.noPatients
  if (role === 'admin' || can_see_all_patients) return texts.wholeClinic
  return department_name ?? texts.noDepartment
}
