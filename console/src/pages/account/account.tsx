import { PageHead } from '../../parts/page-head.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { accountTexts as texts } from './account.texts.ts'
import { useProfile } from './data.ts'
import { Looks } from './looks.tsx'
import { Messenger } from './messenger.tsx'
import { Password } from './password.tsx'
import { Profile } from './profile.tsx'
import { SecondFactor } from './second-factor.tsx'
import { Sessions } from './sessions.tsx'
import './account.css'

/** The page where users manage their own account. */
export function Page() {
  const profile = useProfile()
  return (
    <>
      <PageHead title={texts.title} />
      <div className="account">
        <div className="stack">
          <section className="card" aria-labelledby="profile">
            <header>
              <h2 id="profile">{texts.profile.title}</h2>
            </header>
            <div className="card-body">
              <QueryState query={profile}>{(data) => <Profile profile={data} />}</QueryState>
            </div>
          </section>
          <Password />
        </div>
        <div className="stack">
          {profile.data && <SecondFactor isOn={profile.data.totp_enabled} />}
          <Messenger />
          <Looks />
        </div>
        <Sessions />
      </div>
    </>
  )
}
