import type { Schemas } from '../../api/client.ts'
import { Ago } from '../../parts/ago.tsx'
import { roleNames } from '../../words/roles.ts'
import { accountTexts } from './account.texts.ts'

const texts = accountTexts.profile

/** The details of an account that its owner can only read. */
export function Profile({ profile }: { profile: Schemas['Profile'] }) {
  const { can_see_all_patients: seesAll, role } = profile
  return (
    <div className="stack tight">
      <dl className="facts">
        <dt>{texts.name}</dt>
        <dd>{profile.full_name}</dd>
        <dt>{texts.email}</dt>
        <dd>{profile.email}</dd>
        <dt>{texts.confirmed}</dt>
        <dd>{profile.email_verified ? texts.yes : texts.notYet}</dd>
        <dt>{texts.role}</dt>
        <dd>{roleNames[role]}</dd>
        <dt>{texts.department}</dt>
        <dd>{profile.department_name ?? texts.noDepartment}</dd>
        {role !== 'superadmin' && (
          <>
            <dt>{texts.sees}</dt>
            <dd>{seesAll ? texts.wholeClinic : texts.ownDepartment}</dd>
          </>
        )}
        <dt>{texts.lastSignIn}</dt>
        <dd>
          <Ago at={profile.last_login_at} />
        </dd>
      </dl>
      <p className="small muted">{texts.hint}</p>
    </div>
  )
}
