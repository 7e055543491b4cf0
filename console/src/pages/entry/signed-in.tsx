/** The page of a signed-in person until the shell takes its place. */
import { session, usePerson } from '../../session/index.ts'
import { roleNames } from '../../words/roles.ts'
import { EntryPage } from './entry-page.tsx'

/** Shows who is signed in. */
export function SignedIn() {
  const person = usePerson()
  if (!person) return null
  return (
    <EntryPage title={person.full_name} lead={roleNames[person.role]}>
      <button type="button" className="wide" onClick={() => session.signOut('chosen')}>
        Sign out
      </button>
    </EntryPage>
  )
}
