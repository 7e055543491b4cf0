/** Signing in: finds the account, checks the password and the second factor, starts a session. */
import { type Clock, DAY } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem, type ProblemCode } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import type { Passwords } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { append } from '../../../platform/journal/index.ts'
import type { Count, Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { Credentials, TokenResponse } from '../auth.schema.ts'
import type { SecondFactor } from '../second-factor/second-factor.service.ts'
import type { Sessions, Started } from '../sessions/sessions.service.ts'
import * as store from './accounts.store.ts'
import { type Locate, type Located, subdomainOf } from './locate.ts'

/** Five wrong guesses are free, then each doubles the wait, a quarter of an hour at the most. */
const BY_ACCOUNT: ThrottleRule = { name: 'sign-in', free: 5, first: 5, longest: 900 }
/** A whole clinic may be behind one address: it is free for longer, and never waits for long. */
const BY_ADDRESS: ThrottleRule = { name: 'sign-in from', free: 20, first: 2, longest: 60 }
/** An address that the user has signed in from within this time is known. */
const KNOWN_FOR = 30 * DAY

export interface SignInDeps {
  db: Scopes
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  secondFactor: SecondFactor
  throttle: Throttle
  locate: Locate
  /** The host part of the public address: what stands before it in `Host` is a subdomain. */
  publicHost: string
  /** Whether an account must have confirmed its address to sign in. */
  needsVerifiedEmail: boolean
}

export interface SignIn {
  /** @throws Problem 401 for wrong anything, 403 for a blocked account or tenant, 429 after too many */
  login(credentials: Credentials, host: string, origin: Origin): Promise<TokenResponse>
}

/** A sign-in that is under way. */
interface Attempt {
  credentials: Credentials
  origin: Origin
  located: Located
}

export function signInService(deps: SignInDeps): SignIn {
  const { db, clock, passwords, sessions } = deps
  const iso = (offset = 0) => new Date(clock.now() + offset).toISOString()

  /**
   * What a failure counts against. An address that the user is known by counts for itself, so a
   * stranger who guesses at the account elsewhere does not make its owner wait. Else it is only
   * what was asked for that tells the counts apart: by what was found, a wait would tell that the
   * account exists. The address that was typed comes last, so nobody can spell another's count.
   */
  async function countsOf({ credentials, origin, located }: Attempt): Promise<[Count, Count]> {
    const { account, namedTenantId } = located
    // Asked for an account that does not exist as well, so that it takes the same time.
    const isKnown = await db.acrossTenants(
      (tx) => store.isKnownAddress(tx, account, origin.ip, iso(-KNOWN_FOR)),
      'read',
    )
    const from = isKnown ? origin.ip : 'anywhere'
    return [
      { rule: BY_ACCOUNT, of: `${namedTenantId ?? 'unnamed'}/${from}/${credentials.email}` },
      { rule: BY_ADDRESS, of: networkOf(origin.ip) },
    ]
  }

  /** Refuses, and the journal says so: the same work whether the account exists or not. */
  async function refuse(
    code: ProblemCode,
    { located, credentials, origin }: Attempt,
  ): Promise<never> {
    const { account, tenantId } = located
    const actor = {
      user_id: account?.id ?? null,
      user_email: account?.email ?? credentials.email,
      origin,
    }
    await db.acrossTenants((tx) =>
      append(tx, actor, {
        action: 'auth.login_failed',
        tenant_id: tenantId,
        resource_type: 'session',
        changes: { reason: code },
      }),
    )
    throw new Problem(code)
  }

  /** Why an account whose password is right may not sign in; undefined when it may. */
  function hindrance(account: store.Account): ProblemCode | undefined {
    if (!account.is_active) return 'account_blocked'
    if (!account.tenant_is_active) return 'tenant_inactive'
    if (deps.needsVerifiedEmail && !account.email_verified) return 'email_unverified'
    return undefined
  }

  /** Starts the session within one transaction with all that it depends on. */
  async function enter(
    tx: TenantTx,
    found: store.Account,
    freshHash: string | null,
    { credentials, origin }: Attempt,
  ): Promise<Started | undefined> {
    const admitted = await store.admit(tx, found, iso(), freshHash)
    if (!admitted) return undefined
    const account = { ...found, ...admitted }
    // Other sessions of the user show when they last signed in.
    tx.stale(`user:${account.id}`)
    const code = credentials.totp_code
    if (account.totp_enabled && !(code && (await deps.secondFactor.take(tx, account.id, code))))
      throw new Problem('invalid_credentials')
    const mustEnrol = !account.totp_enabled && demandsFactor(account)
    return sessions.start(tx, { ...account, must_enrol: mustEnrol }, origin)
  }

  async function attempt(trying: Attempt): Promise<TokenResponse> {
    const { credentials, located } = trying
    const { account } = located
    const isRight = await passwords.verify(account?.password_hash ?? null, credentials.password)
    if (!account || !isRight) return refuse('invalid_credentials', trying)
    const hindered = hindrance(account)
    if (hindered) return refuse(hindered, trying)
    if (account.totp_enabled && !credentials.totp_code) return refuse('totp_required', trying)
    const freshHash = passwords.isOutdated(account.password_hash)
      ? await passwords.hash(credentials.password)
      : null
    const started = await db
      .inTenant(account.tenant_id, (tx) => enter(tx, account, freshHash, trying))
      .catch(wrongCode)
    // A wrong code; or blocked, or given another password, while this one was being checked.
    return started ? sessions.tokens(started) : refuse('invalid_credentials', trying)
  }

  return {
    async login(credentials, host, origin) {
      const subdomain = credentials.subdomain || subdomainOf(host, deps.publicHost)
      const located = await deps.locate(credentials.email, subdomain)
      const trying = { credentials, origin, located }
      return deps.throttle.guess(await countsOf(trying), () => attempt(trying))
    },
  }
}

/** Whether the tenant's settings demand a second factor of the account's role. */
function demandsFactor({ settings, role }: store.Account): boolean {
  const demanded = settings.require_totp
  return Array.isArray(demanded) && demanded.includes(role)
}

/** A wrong code has undone the transaction; it is journaled like any other refusal. */
function wrongCode(error: unknown): undefined {
  if (error instanceof Problem && error.code === 'invalid_credentials') return undefined
  throw error
}
