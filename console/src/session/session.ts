/**
 * The session of this browser. An HttpOnly cookie contains the refresh token. Only a closure of this module holds the
 * access token. Storage, the URL and global objects never contain it.
 */
import type { paths } from '@wardkeep/client/api'
import { ApiError, retryDelayOf } from '../api/problem.ts'
import type { Channel, TabMessage } from './channel.ts'

type Login = paths['/api/auth/login']['post']

/** The input of a sign-in. */
export type Credentials = Login['requestBody']['content']['application/json']

type Tokens = Login['responses']['200']['content']['application/json']

/** The service's response for a session of the console. */
export type SessionAnswer = Omit<Tokens, 'refresh_token'> & { idle_minutes: number }

/** The signed-in person and the limits of the session. */
export type Person = Omit<SessionAnswer, 'access_token' | 'token_type' | 'expires_in'>

/** The reason why no user is signed in. `none` means that no user was signed in before. */
export type SignedOutReason =
  | 'none'
  | 'chosen'
  | 'elsewhere'
  | 'idle'
  | 'ended'
  | 'password-changed'

export type SessionState =
  | { status: 'unknown' }
  | { status: 'signed-in'; person: Person }
  | { status: 'signed-out'; reason: SignedOutReason; last: Person | undefined }

export interface SessionDeps {
  sendJson: (method: string, path: string, body: unknown) => Promise<Response>
  channel: Channel
  /** Runs work while no other tab is changing the session. */
  takeTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  now: () => number
  pause: (seconds: number) => Promise<void>
  /** Reloads the page. This drops all data in this tab. */
  reload: () => void
}

export interface Session {
  state(): SessionState
  /** Calls the listener after each change of the state. */
  subscribe(listener: () => void): () => void
  /** Returns the signed-in user. Asks the service first if this tab does not know the user yet. */
  ensure(): Promise<Person | undefined>
  signIn(credentials: Credentials): Promise<Person>
  /**
   * Signs the same user in with a new password, because setting the password has ended all sessions. Waits while the
   * service is unavailable. Returns false if the user has to use the sign-in page.
   */
  signInAgain(password: string): Promise<boolean>
  /** Signs the user out in every tab at once, and then ends the session at the service. */
  signOut(reason: 'chosen' | 'idle' | 'password-changed'): void
  /** Renews the session, which also reports activity to the service. */
  renew(): Promise<void>
  /**
   * Returns a token that stays valid for a while. Returns undefined if nobody is signed in.
   * @throws ApiError when another user signs in before the token arrives
   */
  accessToken(): Promise<AccessToken | undefined>
  /**
   * Returns a new token to replace a refused one. Returns undefined if the user of the refused token has signed out.
   */
  replaceToken(refused: AccessToken): Promise<AccessToken | undefined>
}

const SESSION = '/api/console/session'
const RENEW_BEFORE_SECONDS = 60
const SIGN_OUT_WAIT_SECONDS = 5

/** An access token and its user. */
export interface AccessToken {
  readonly text: string
  /** The user of the token, as returned by `personKey`. */
  readonly owner: string
}

interface Token extends AccessToken {
  renewAt: number
  expiresAt: number
}

const tokenOf = (text: string, owner: string, seconds: number, now: number): Token => ({
  text,
  owner,
  renewAt: now + Math.max(seconds - RENEW_BEFORE_SECONDS, seconds / 2) * 1000,
  expiresAt: now + seconds * 1000,
})

/** Returns a key that identifies a user across tenants. */
export const personKey = (person: { tenant_id: number; user_id: number }): string =>
  `${person.tenant_id}:${person.user_id}`

const signedInPerson = (state: SessionState): Person | undefined =>
  state.status === 'signed-in' ? state.person : undefined

/** Returns the signed-in user, or the user who was signed in last. */
const knownPerson = (state: SessionState): Person | undefined =>
  state.status === 'signed-out' ? state.last : signedInPerson(state)

/** Creates the session. It sends nothing before the first call. */
export function createSession(deps: SessionDeps): Session {
  const { sendJson, channel, takeTurn, now } = deps
  const listeners = new Set<() => void>()
  let state: SessionState = { status: 'unknown' }
  let token: Token | undefined
  let renewing: Promise<void> | undefined
  let ending = Promise.resolve()
  let signedInWith: Omit<Credentials, 'password' | 'totp_code'> | undefined
  /** Increases with each sign-in and sign-out, so that responses of an earlier session can be ignored. */
  let epoch = 0
  /** Increases with each successful sign-in, in this tab or another one. */
  let signIns = 0

  function change(next: SessionState): void {
    state = next
    for (const listener of listeners) listener()
  }

  function forget(reason: SignedOutReason): void {
    epoch++
    token = undefined
    signedInWith = undefined
    change({ status: 'signed-out', reason, last: knownPerson(state) })
  }

  function adopt(answer: SessionAnswer): Person {
    const { access_token, token_type: _, expires_in, ...person } = answer
    const before = knownPerson(state)
    const owner = personKey(person)
    if (before && personKey(before) !== owner) {
      forget('elsewhere')
      deps.reload()
      return person
    }
    token = tokenOf(access_token, owner, expires_in, now())
    change({ status: 'signed-in', person })
    return person
  }

  /** @param asked the counters at the time of the request for a renewal. A renewal must not undo a later sign-out. */
  async function askForToken(asked = { epoch, signIns }): Promise<void> {
    if (asked.epoch !== epoch) return
    const answer = await sendRenewal(sendJson)
    if (asked.epoch !== epoch) return
    if (answer) adopt(answer)
    // The service refused the cookie of the earlier session. The cookie of the newer session may be valid.
    else if (asked.signIns !== signIns) await askForToken()
    else forget(signedInPerson(state) ? 'ended' : 'none')
  }

  function renew(): Promise<void> {
    const asked = { epoch, signIns }
    renewing ??= takeTurn(() => askForToken(asked)).finally(() => {
      renewing = undefined
    })
    return renewing
  }

  /** Ends the session at the service, unless someone has signed in since. */
  async function endSession(): Promise<void> {
    const before = signIns
    const end = async () => {
      if (before === signIns) await sendJson('DELETE', SESSION, {})
    }
    // Ignores a refusal, because a refused cookie belongs to no session.
    await persist(() => takeTurn(end), deps.pause).catch(() => undefined)
  }

  function signOut(reason: 'chosen' | 'idle' | 'password-changed'): void {
    forget(reason)
    channel.publish({ type: reason === 'idle' ? 'locked' : 'signed-out' })
    ending = endSession()
  }

  async function signIn(credentials: Credentials): Promise<Person> {
    epoch++
    // Waits for the sign-out, because one that arrives after the sign-in would clear the new cookie.
    await Promise.race([ending, deps.pause(SIGN_OUT_WAIT_SECONDS)])
    const answer = await takeTurn(async () => {
      const response = await sendJson('POST', SESSION, credentials)
      signIns++
      return response
    })
    const person = adopt((await answer.json()) as SessionAnswer)
    signedInWith = { email: credentials.email, subdomain: credentials.subdomain ?? null }
    channel.publish({ type: 'signed-in', tenant_id: person.tenant_id, user_id: person.user_id })
    return person
  }

  function receive(message: TabMessage): void {
    if (message.type === 'signed-in') receiveSignIn(personKey(message))
    else if (message.type !== 'theme' && signedInPerson(state))
      forget(message.type === 'locked' ? 'idle' : 'elsewhere')
  }

  function receiveSignIn(key: string): void {
    signIns++
    if (state.status === 'unknown') return
    const before = knownPerson(state)
    if (before && personKey(before) !== key) {
      forget('elsewhere')
      deps.reload()
    } else if (state.status === 'signed-out') {
      epoch++
      // Waits for a running renewal, which belongs to the earlier session. If it fails, the sign-in form can still be
      // used.
      void Promise.resolve(renewing)
        .then(renew)
        .catch(() => undefined)
    }
  }

  channel.listen(receive)

  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async ensure() {
      if (state.status === 'unknown') await renew()
      return signedInPerson(state)
    },
    signIn,
    async signInAgain(password) {
      const remembered = signedInWith
      if (!remembered) return false
      const again = () => signIn({ ...remembered, password })
      return isAccepted(persist(again, deps.pause, () => signedInWith === remembered))
    },
    signOut,
    renew,
    async accessToken() {
      if (!token || now() < token.renewAt) return token
      const { expiresAt, owner } = token
      await renew().catch((error: unknown) => {
        if (now() >= expiresAt) throw error
      })
      if (token?.owner !== owner) throw new ApiError({ status: 401, detail: 'You are signed out.' })
      return token
    },
    async replaceToken(refused) {
      if (token?.text === refused.text) await renew()
      return token?.text !== refused.text && token?.owner === refused.owner ? token : undefined
    },
  }
}

/** Repeats a request until the service accepts it or refuses it for good, or until the caller cancels it. */
async function persist<Result>(
  request: () => Promise<Result>,
  pause: SessionDeps['pause'],
  isWanted: () => boolean = () => true,
): Promise<Result> {
  for (;;) {
    try {
      return await request()
    } catch (error) {
      if (!(error instanceof ApiError) || !mayPass(error)) throw error
      await pause(retryDelayOf(error))
      if (!isWanted()) throw error
    }
  }
}

const mayPass = ({ isPassing, status }: ApiError): boolean => isPassing || status >= 500

/** Returns false if the service refuses the request. */
async function isAccepted(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

/** Renews the session. Returns undefined if there is none. */
async function sendRenewal(sendJson: SessionDeps['sendJson']): Promise<SessionAnswer | undefined> {
  try {
    const response = await sendJson('POST', `${SESSION}/refresh`, {})
    return response.status === 204 ? undefined : ((await response.json()) as SessionAnswer)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}
