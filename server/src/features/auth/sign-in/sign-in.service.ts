/** Signs users in: finds the account, verifies the password and the second factor, and starts a session. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { foldEmail, isEmailShaped } from '../../../lib/email.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem, type ProblemCode } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import type { Passwords } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append } from '../../../platform/journal/index.ts'
import { canFail } from '../../../platform/observe/can-fail.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type RateLimiter, type Throttle, tooMany } from '../../../platform/throttle/index.ts'
import { findAskedTenantId } from '../../tenants/index.ts'
import { recordSignIn } from '../../users/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import type { Credentials } from '../auth.schema.ts'
import type { SecondFactor } from '../second-factor/second-factor.service.ts'
import type { IssuedSession } from '../sessions/issued-tokens.ts'
import { restrictionOf } from '../sessions/restriction.ts'
import type { TokenResponse } from '../sessions/sessions.schema.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import type { AskTenant } from './asked-tenant.ts'
import { type Guess, openGuesses, type SignInRequest } from './guesses.ts'

export interface SignInDeps {
  db: Scopes
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  secondFactor: SecondFactor
  throttle: Throttle
  /** Limits how often one network, and one address from that network, may try to sign in. */
  limit: RateLimiter
  askTenant: AskTenant
  log: Logger
  /** True if only accounts with a confirmed address may sign in. */
  needsVerifiedEmail: boolean
}

export interface SignIn {
  /**
   * Signs a user in and returns the tokens of the new session.
   * @throws Problem 401 for wrong credentials, 403 for a blocked account or tenant, 429 after too many attempts, 503
   *   during a restore of the clinic
   */
  login(credentials: Credentials, host: string, origin: Origin): Promise<TokenResponse>
  /** Signs a user in like `login`, and starts a console session. */
  loginToConsole(credentials: Credentials, host: string, origin: Origin): Promise<IssuedSession>
}

type WithPassword<A extends accounts.Account = accounts.Account> = A & { password_hash: string }

interface Attempt {
  credentials: Credentials
  origin: Origin
  asked: SignInRequest
  guess: Guess
  isConsole: boolean
}

export function signInService(deps: SignInDeps): SignIn {
  const { db, clock, passwords, sessions, log } = deps
  const guesses = openGuesses(db, clock, deps.throttle, deps.limit)

  /**
   * Counts a wrong guess of a caller who has to wait. Journals the guess only for known accounts, because only their
   * passwords were checked. Takes the same time with and without a known account.
   * @throws Problem 429
   */
  async function refuseWaiting(trying: Attempt): Promise<never> {
    const { asked, guess } = trying
    const checked = accountsOf(guess)
    await db.acrossTenants(async (tx) => {
      await Promise.all([
        accounts.commitUnwaited(tx),
        checked.length > 0 && note(tx, 'invalid_credentials', trying, checked),
        guesses.fail(tx, asked, guess),
      ])
    })
    throw tooMany(guess.wait)
  }

  /**
   * Refuses a sign-in: writes journal entries and counts a wrong guess. Does the same amount of work for unknown
   * accounts.
   * @throws Problem with this code, or 429 if the caller has to wait
   */
  async function refuse(
    code: ProblemCode,
    trying: Attempt,
    known: readonly accounts.Account[],
  ): Promise<never> {
    const isWrong = code === 'invalid_credentials'
    if (isWrong && trying.guess.wait > 0) return refuseWaiting(trying)
    await db.acrossTenants(async (tx) => {
      await note(tx, code, trying, known)
      if (isWrong) await guesses.fail(tx, trying.asked, trying.guess)
    })
    throw new Problem(code)
  }

  /** Starts the session. Returns undefined if the user has changed. @throws Problem 401 for a wrong code */
  async function startSession(
    tx: TenantTx,
    found: WithPassword,
    freshHash: string | null,
    { credentials, origin, isConsole }: Attempt,
  ): Promise<IssuedSession | undefined> {
    const user = await recordSignIn(tx, found, isoAt(clock), freshHash)
    if (!user) return undefined
    const account = { ...found, ...user, is_console: isConsole }
    const code = credentials.totp_code
    if (
      account.totp_enabled &&
      !(code && (await deps.secondFactor.verifyCode(tx, account.id, code)))
    )
      throw new Problem('invalid_credentials')
    const restriction = restrictionOf(account, account.demanded)
    return sessions.start(tx, { ...account, restriction }, origin)
  }

  /**
   * Returns a new hash if the stored hash has an outdated cost. Returns null if the cost is current, or if hashing is
   * overloaded.
   */
  async function rehash(account: WithPassword, { credentials, guess }: Attempt) {
    if (!passwords.isOutdated(account.password_hash)) return null
    const work = passwords.hash(credentials.password, guess.party)
    return (await canFail(work, 'rehashing of a password', log)) ?? null
  }

  async function start(account: WithPassword, trying: Attempt): Promise<IssuedSession | undefined> {
    const freshHash = await rehash(account, trying)
    return db
      .inTenant(account.tenant_id, (tx) => startSession(tx, account, freshHash, trying))
      .catch(wrongCode)
  }

  /** Starts a session in one round trip; undefined if there is a code to verify or a hash to renew. */
  async function startAtOnce(
    account: WithPassword,
    { credentials, origin, isConsole }: Attempt,
  ): Promise<IssuedSession | undefined> {
    const isPlain =
      !account.totp_enabled &&
      !credentials.totp_code &&
      !passwords.isOutdated(account.password_hash)
    if (!isPlain) return undefined
    return sessions.admit({ ...account, is_console: isConsole }, origin)
  }

  /** Starts the session if a concurrent sign-in has renewed the hash of the same password, else returns undefined. */
  async function startWithNewHash(
    { id, tenant_id, password_hash }: WithPassword,
    trying: Attempt,
  ): Promise<IssuedSession | undefined> {
    const find = (tx: TenantTx) => accounts.findAccount(tx, { id, tenant_id })
    const now = await db.inTenant(tenant_id, find, 'read')
    const stored = now?.password_hash
    if (!stored || stored === password_hash) return undefined
    const { credentials, guess } = trying
    const isRight = await passwords.verify(stored, credentials.password, guess.party)
    return isRight ? start({ ...now, password_hash: stored }, trying) : undefined
  }

  async function attempt(trying: Attempt): Promise<IssuedSession> {
    const { credentials, asked, guess } = trying
    const account = await match(passwords, trying)
    if (!account) return refuse('invalid_credentials', trying, accountsOf(guess))
    const denied = denialReason(account, deps.needsVerifiedEmail)
    if (denied) return refuse(denied, trying, [account])
    if (account.totp_enabled && !credentials.totp_code)
      return refuse('totp_required', trying, [account])
    // Checks for a running restore only after the password is verified, because the error reveals the user's clinic.
    await db.requireAvailable(account.tenant_id)
    const started =
      (await startAtOnce(account, trying)) ??
      (await start(account, trying)) ??
      (await startWithNewHash(account, trying))
    // The code was wrong, or the account was blocked or got a new password in the meantime.
    if (!started) return refuse('invalid_credentials', trying, [account])
    await guesses.clear(asked, account)
    return started
  }

  function signIn(isConsole: boolean) {
    return (credentials: Credentials, host: string, origin: Origin): Promise<IssuedSession> => {
      const asked = {
        email: foldEmail(credentials.email),
        network: networkOf(origin.ip),
        tenant: deps.askTenant(credentials.subdomain, host),
      }
      return guesses.make(
        asked,
        (guess) => attempt({ credentials, origin, asked, guess, isConsole }),
        (guess) => match(passwords, { credentials, guess }),
      )
    }
  }

  const toApi = signIn(false)
  return {
    login: async (...call) => sessions.tokens(await toApi(...call)),
    loginToConsole: signIn(true),
  }
}

/**
 * Returns the first account whose password matches. Computes one hash for each place, even if the place has no account,
 * so that the response time reveals nothing.
 */
async function match(
  passwords: Passwords,
  { guess, credentials }: Pick<Attempt, 'guess' | 'credentials'>,
) {
  let matched: WithPassword<NonNullable<Guess['places'][number]>> | undefined
  for (const place of guess.places) {
    const stored = place?.password_hash ?? null
    const isRight = await passwords.verify(stored, credentials.password, guess.party)
    if (isRight && place && stored) matched ??= { ...place, password_hash: stored }
  }
  return matched
}

/** Writes a journal entry about the refusal for each account, or a single entry if there is no account. */
async function note(
  tx: TenantTx,
  code: ProblemCode,
  { asked, credentials, origin }: Attempt,
  known: readonly accounts.Account[],
): Promise<void> {
  const askedId = asked.tenant && (await findAskedTenantId(tx, asked.tenant))
  // Records only text that looks like an address, because users often type their password into the wrong field.
  const typed = isEmailShaped(credentials.email) ? credentials.email : null
  const nobody = { id: null, email: typed, tenant_id: askedId ?? null }
  const entries = (known.length > 0 ? known : [nobody]).map(({ id, email, tenant_id }) =>
    append(
      tx,
      // Writes no user id, because the caller is not authenticated. The account is the entry's resource.
      { user_id: null, user_email: email, origin },
      {
        action: 'auth.login_failed',
        tenant_id,
        resource_type: 'user',
        resource_id: id === null ? null : String(id),
        changes: { reason: code },
      },
    ),
  )
  await Promise.all(entries)
}

/** Returns why an account may not sign in although its password is verified. Returns undefined if it may sign in. */
function denialReason(
  account: accounts.Account,
  needsVerifiedEmail: boolean,
): ProblemCode | undefined {
  if (!account.is_active) return 'account_blocked'
  if (!account.tenant_is_active) return 'tenant_inactive'
  if (needsVerifiedEmail && !account.email_verified && !account.is_vouched)
    return 'email_unverified'
  return undefined
}

const accountsOf = ({ places }: Guess): accounts.Account[] =>
  places.filter((place) => place !== undefined)

/**
 * Rethrows every error except a wrong code. A wrong code has rolled back the transaction, so the caller journals it.
 */
function wrongCode(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'invalid_credentials') return undefined
  throw error
}
