/** Assembles the auth feature: signing keys, tokens, sessions, account recovery, registration and the second factor. */

import type { Needs } from '../../core.ts'
import { DAY, HOUR, isoAt } from '../../lib/clock.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import type { Redirects } from '../../platform/http/index.ts'
import type { Upkeep } from '../../platform/lifecycle/upkeep.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { createRateLimiter } from '../../platform/throttle/index.ts'
import { actingOn, passwordCheck, readingUsers } from '../users/index.ts'
import { expiredFix, purgeSignIn } from './auth.jobs.ts'
import { type Confirmations, confirmations } from './console/confirmation.service.ts'
import { consoleOperations } from './console/console.routes.ts'
import { consoleSessions } from './console/console.service.ts'
import { type Demo, welcoming } from './console/welcome.ts'
import {
  type NotifyApplicant,
  noticesTo,
  noticesToApplicants,
  noticeToFormerAddress,
} from './notices/notices.service.ts'
import { ACCOUNT_TOKEN_TABLES } from './recovery/account-tokens.table.ts'
import { recoveryOperations } from './recovery/recovery.routes.ts'
import { type Disown, type Recovery, recoveryService } from './recovery/recovery.service.ts'
import { registrationOperations } from './registration/registration.routes.ts'
import { registrationService } from './registration/registration.service.ts'
import { secondFactorOperations } from './second-factor/second-factor.routes.ts'
import { type SecondFactor, secondFactorService } from './second-factor/second-factor.service.ts'
import { SECOND_FACTOR_COLUMNS, SECOND_FACTOR_TABLES } from './second-factor/second-factor.table.ts'
import { requireSignedIn } from './sessions/ending.ts'
import { lastLogins } from './sessions/last-logins.ts'
import { sessionStates } from './sessions/session-states.ts'
import { sessionOperations } from './sessions/sessions.routes.ts'
import { type Sessions, sessionsService } from './sessions/sessions.service.ts'
import { endEverySession } from './sessions/sessions.store.ts'
import { SESSION_TABLES } from './sessions/sessions.table.ts'
import { userSessionOperations } from './sessions/user-sessions.routes.ts'
import { userSessionsService } from './sessions/user-sessions.service.ts'
import { tenantAsker } from './sign-in/asked-tenant.ts'
import { signInOperations } from './sign-in/sign-in.routes.ts'
import { signInService } from './sign-in/sign-in.service.ts'
import { accessTokens } from './tokens/access-tokens.ts'
import { signingKeyOperations } from './tokens/signing-keys.routes.ts'
import { openSigningKeys, type SigningKeys } from './tokens/signing-keys.service.ts'
import { SIGNING_KEY_TABLES } from './tokens/signing-keys.table.ts'

type Core = Needs<
  | 'db'
  | 'signInDb'
  | 'changes'
  | 'clock'
  | 'jobs'
  | 'keyRing'
  | 'log'
  | 'lostWrites'
  | 'mailer'
  | 'passwords'
  | 'publicUrl'
  | 'sealer'
  | 'throttle',
  | 'AUTH_RATE_LIMIT_PER_MINUTE'
  | 'EMAIL_VERIFICATION'
  | 'SESSION_CACHE_MAX'
  | 'SIGNING_KEY_DAYS'
  | 'TENANT_MODE'
  | 'WRITE_RATE_LIMIT_PER_MINUTE'
>

/** Token rotations per minute for one session on a node. Clients rarely refresh more than once in 15 minutes. */
const ROTATIONS_PER_MINUTE = 60

const rotationsWithin = (limit: number) => createRateLimiter(Math.min(limit, ROTATIONS_PER_MINUTE))

const AUTH_TABLES = {
  ...SECOND_FACTOR_TABLES,
  ...SESSION_TABLES,
  ...ACCOUNT_TOKEN_TABLES,
  ...SIGNING_KEY_TABLES,
}

/** The constraint that a write violates if the caller's session ends while the request runs. */
const CONFLICTS = { sessions__live: 'invalid_token' } as const

const DECLARED = {
  tables: AUTH_TABLES,
  columns: SECOND_FACTOR_COLUMNS,
  conflicts: CONFLICTS,
} as const

export interface Auth extends Feature {
  keys: SigningKeys
  sessions: Sessions
  secondFactor: SecondFactor
  /** Requires a confirmed session for final acts in the console. */
  requireConfirmed: Confirmations['requireConfirmed']
  /** Ends all sessions of a user or of a tenant, within the caller's transaction. */
  endSessions: Sessions['end']
  passwordSet: Recovery['passwordSet']
  /** Functions that send users the mails that an administrator's action causes. */
  accountMails: Pick<
    Recovery,
    'addressChanged' | 'countInvitation' | 'invite' | 'takeVerification' | 'welcome'
  > & { notifyApplicant: NotifyApplicant }
}

export interface AuthDeps {
  disownChat: Disown
  /** The sign-in data of the demo; null if this service has no demo. */
  demo: Demo | null
}

export async function openAuth(core: Core, handed: AuthDeps): Promise<Auth> {
  const { db, signInDb, changes, clock, mailer, config } = core
  const keys = await openSigningKeys(signInDb, changes, core.sealer, clock, core.log)
  const askTenant = tenantAsker(new URL(core.publicUrl).hostname, config.TENANT_MODE === 'single')
  const sessions = openSessions(core, keys)
  const onUser = actingOn(db, requireSignedIn)
  const userSessions = userSessionsService({ clock, readUser: readingUsers(db), onUser })
  const notifyOwner = noticesTo({ mailer, clock })
  const checkPassword = passwordCheck(core)
  const secondFactor = secondFactorService({
    ...core,
    sessions,
    notifyOwner,
    onUser,
    checkPassword,
  })
  const confirming = confirmations({ ...core, checkPassword, secondFactor })
  const disown = [secondFactor.disown, handed.disownChat]
  const addressLeft = noticeToFormerAddress(core)
  const recovery = recoveryService({ ...core, sessions, notifyOwner, addressLeft, disown })
  const signIn = signInService({
    ...core,
    db: signInDb,
    sessions,
    secondFactor,
    limit: createRateLimiter(config.AUTH_RATE_LIMIT_PER_MINUTE),
    askTenant,
    needsVerifiedEmail: mailer.isConfigured && config.EMAIL_VERIFICATION === 'required',
  })
  const { demo } = handed
  const welcome = welcoming({ db, askTenant, demo, canMail: mailer.isConfigured })
  const registrations = registrationService({ ...core, recovery, askTenant })
  purgeSignIn(core)
  core.lostWrites.onLoss((tx) => endEverySession(tx, isoAt(clock), 'writes_lost'))
  return {
    name: 'auth',
    ...DECLARED,
    keys,
    sessions,
    secondFactor,
    requireConfirmed: confirming.requireConfirmed,
    endSessions: sessions.end,
    passwordSet: recovery.passwordSet,
    accountMails: { ...recovery, notifyApplicant: noticesToApplicants(core) },
    operations: [
      ...signInOperations(signIn),
      ...sessionOperations(sessions),
      ...userSessionOperations(userSessions),
      ...consoleOperations(consoleSessions(sessions, signIn, core.log), confirming, welcome),
      ...signingKeyOperations(keys),
      ...registrationOperations(registrations),
      ...recoveryOperations(recovery, askTenant),
      ...secondFactorOperations(secondFactor),
    ],
    redirects: REDIRECTS,
    upkeep: [keyRotation(keys, config.SIGNING_KEY_DAYS * DAY)],
    fixes: [expiredFix(core.db)],
    capabilities: capabilitiesOf(mailer),
  }
}

function openSessions(
  { signInDb: db, changes, clock, config, publicUrl }: Core,
  keys: SigningKeys,
) {
  return sessionsService({
    db,
    clock,
    states: sessionStates(db, changes, config.SESSION_CACHE_MAX),
    logins: lastLogins(db),
    access: accessTokens(keys, clock, publicUrl),
    rotations: rotationsWithin(config.WRITE_RATE_LIMIT_PER_MINUTE),
  })
}

const capabilitiesOf = ({ isConfigured }: Mailer) => ({
  // Without an SMTP server, mails are only written to the outbox folder, so users cannot receive links.
  password_reset_available: isConfigured,
  registration_available: true,
  totp_available: true,
})

const keyRotation = (keys: SigningKeys, maxAgeMs: number): Upkeep => ({
  what: 'signing key rotation',
  everyMs: HOUR,
  // The service can serve requests without this job, because the previous key signs until a rotation succeeds.
  isNeededToServe: false,
  run: () => keys.rotateWhenOlder(maxAgeMs),
})

/** Redirects for links in mails of earlier releases to pages that are now in the console. */
const REDIRECTS: Redirects = {
  '/verify-email': 'console/verify-email',
  '/reset-password': 'console/reset-password',
  '/invitation': 'console/invitation',
}
