/** Signing in: finds the account, checks the password and the second factor, starts a session. */
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
import type { SecondFactor } from '../second-factor/second-factor.service.ts'
import type { IssuedSession } from '../sessions/issued-tokens.ts'
import { restrictionOf } from '../sessions/restriction.ts'
import type { TokenResponse } from '../sessions/sessions.schema.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import type { AskTenant } from './asked-tenant.ts'
import { type Asked, type Guess, openGuesses } from './guesses.ts'
import type { Credentials } from './sign-in.schema.ts'

export interface SignInDeps {
  db: Scopes
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  secondFactor: SecondFactor
  throttle: Throttle
  /** How often one network, and one address of a person from there, may try to sign in. */
  limit: RateLimiter
  askTenant: AskTenant
  log: Logger
  /** Whether an account must have confirmed its address to sign in. */
  needsVerifiedEmail: boolean
}

export interface SignIn {
  /**
   * @throws Problem 401 for wrong anything, 403 for a blocked account or tenant, 429 after too many, 503
   * while the clinic is being restored
   */
  login(credentials: Credentials, host: string, origin: Origin): Promise<TokenResponse>
  /** As `login`, for a session of the console. */
  loginToConsole(credentials: Credentials, host: string, origin: Origin): Promise<IssuedSession>
}

/** An account whose password is known. */
type WithPassword<A extends accounts.Account = accounts.Account> = A & { password_hash: string }

/** A sign-in that is under way. */
interface Attempt {
  credentials: Credentials
  origin: Origin
  asked: Asked
  guess: Guess
  isConsole: boolean
}

export function signInService(deps: SignInDeps): SignIn {
  const { db, clock, passwords, sessions, log } = deps
  const guesses = openGuesses(db, clock, deps.throttle, deps.limit)

  /**
   * Counts a wrong guess of somebody who has to wait. It is an entry only where a password was checked,
   * those of known accounts; the time of the answer is not to tell which it was.
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
   * Refuses, counts where the guess was wrong, and the journal says so: the same work whether the
   * account exists or not.
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

  /** Starts the session within one transaction with all that it depends on. */
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

  /** A hash at today's cost; without a turn for it the next sign-in makes it. */
  async function rehash(account: WithPassword, { credentials, guess }: Attempt) {
    if (!passwords.isOutdated(account.password_hash)) return null
    const work = passwords.hash(credentials.password, guess.party)
    return (await canFail(work, 'hashing a password at the new cost', log)) ?? null
  }

  async function start(account: WithPassword, trying: Attempt): Promise<IssuedSession | undefined> {
    const freshHash = await rehash(account, trying)
    return db
      .inTenant(account.tenant_id, (tx) => startSession(tx, account, freshHash, trying))
      .catch(wrongCode)
  }

  /** Most sign-ins: by one round trip, where there is no code to check, no hash to renew and no session to end. */
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

  /** Where the password was hashed anew meanwhile, by a sign-in elsewhere, and is the same. */
  async function startAnew(
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
    // Not before the password is right: the answer tells of the clinic.
    await db.requireOpen(account.tenant_id)
    const started =
      (await startAtOnce(account, trying)) ??
      (await start(account, trying)) ??
      (await startAnew(account, trying))
    // A wrong code; or blocked, or given another password, while this one was being checked.
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
 * Returns the first account that the password fits. Hashes once for every place, with or without an account in it, so
 * that the response time reveals nothing.
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

/** Writes the journal's entry of a refusal for each of the accounts; one where there is none. */
async function note(
  tx: TenantTx,
  code: ProblemCode,
  { asked, credentials, origin }: Attempt,
  known: readonly accounts.Account[],
): Promise<void> {
  const askedId = asked.tenant && (await findAskedTenantId(tx, asked.tenant))
  // What is typed there and is no address is often the password.
  const typed = isEmailShaped(credentials.email) ? credentials.email : null
  const nobody = { id: null, email: typed, tenant_id: askedId ?? null }
  const entries = (known.length > 0 ? known : [nobody]).map(({ id, email, tenant_id }) =>
    append(
      tx,
      // Nobody has shown who they are: the account that was tried is what the entry is about.
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

/** Why an account whose password is right may not sign in; undefined when it may. */
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

/** The accounts whose passwords were checked. */
const accountsOf = ({ places }: Guess): accounts.Account[] =>
  places.filter((place) => place !== undefined)

/** A wrong code has undone the transaction; it is journaled like any other refusal. */
function wrongCode(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'invalid_credentials') return undefined
  throw error
}
