/** The session of this tab, and the objects that depend on it. */
import { useSyncExternalStore } from 'react'
import { forgetConfirmation } from '../api/confirmation.ts'
import { sendJson } from '../api/http.ts'
import { openChannel } from './channel.ts'
import { createDrafts } from './drafts.ts'
import { createIdleWatch } from './idle-watch.ts'
import { createSession, type Person, personKey, type SessionState } from './session.ts'
import { followTheme } from './theme.ts'
import { takeTurn } from './turn.ts'

export type { Person, SignedOutReason } from './session.ts'

const channel = openChannel()

/** The text typed in forms before a sign-out. */
export const drafts = createDrafts()

export const session = createSession({
  sendJson,
  channel,
  takeTurn,
  now: Date.now,
  pause: (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
  reload: () => location.reload(),
})

session.subscribe(() => {
  if (session.state().status === 'signed-out') forgetConfirmation()
})

export const idleWatch = createIdleWatch({
  onOver: () => session.signOut('idle'),
  // Ignores a failed renewal, because the next request renews the session again.
  onHeartbeat: () => void session.renew().catch(() => undefined),
})

/** Changes the theme in every tab. */
export const setTheme = followTheme(channel)

session.subscribe(() => {
  const state = session.state()
  if (state.status !== 'signed-in') return idleWatch.stop()
  drafts.belongTo(personKey(state.person))
  idleWatch.start(state.person.idle_minutes * 60_000)
})

/** Returns the state of the session, and re-renders when it changes. */
export function useSessionState(): SessionState {
  return useSyncExternalStore(session.subscribe, session.state)
}

/** Returns the signed-in person, or undefined. */
export function usePerson(): Person | undefined {
  const state = useSessionState()
  return state.status === 'signed-in' ? state.person : undefined
}

/** Returns the seconds until the sign-out for inactivity while the warning shows. */
export function useSecondsLeft(): number | undefined {
  return useSyncExternalStore(idleWatch.subscribe, idleWatch.secondsLeft)
}
