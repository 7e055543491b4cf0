/** Sign-in, put together: keys and tokens, sessions, recovery, registration, the second factor. */
import type { Needs } from '../../core.ts'
import { DAY, HOUR } from '../../lib/clock.ts'
import type { Feature } from '../../platform/feature.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { createRateLimiter } from '../../platform/throttle/index.ts'
import type { Upkeep } from '../../platform/upkeep.ts'
import { actingOn, passwordCheck, readingUsers } from '../users/index.ts'
import { expiredFix, purgeSignIn } from './auth.jobs.ts'
import { consoleOperations } from './console/console.routes.ts'
import { consoleSessions } from './console/console.service.ts'
import { type Demo, welcoming } from './console/welcome.ts'
import {
  noticesTo,
  noticesToApplicants,
  noticeToFormerAddress,
  type TellApplicant,
} from './notices/notices.service.ts'
import { ACCOUNT_TOKEN_TABLES } from './recovery/account-tokens.table.ts'
import { recoveryOperations } from './recovery/recovery.routes.ts'
import { type Disown, type Recovery, recoveryService } from './recovery/recovery.service.ts'
import { REDIRECTS } from './redirects.ts'
import { registrationOperations } from './registration/registration.routes.ts'
import { registrationService } from './registration/registration.service.ts'
import { secondFactorOperations } from './second-factor/second-factor.routes.ts'
import { type SecondFactor, secondFactorService } from './second-factor/second-factor.service.ts'
import { SECOND_FACTOR_COLUMNS, SECOND_FACTOR_TABLES } from './second-factor/second-factor.table.ts'
import { lastLogins } from './sessions/last-logins.ts'
import { sessionStates } from './sessions/session-states.ts'
import { sessionOperations } from './sessions/sessions.routes.ts'
import { type Sessions, sessionsService } from './sessions/sessions.service.ts'
import { SESSION_TABLES } from './sessions/sessions.table.ts'
import { requireSignedIn } from './sessions/signed-in.ts'
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
  | 'mailer'
  | 'passwords'
  | 'publicUrl'
  | 'sealer'
  | 'throttle',
  | 'AUTH_RATE_LIMIT_PER_MINUTE'
  | 'EMAIL_VERIFICATION'
  | 'SIGNING_KEY_DAYS'
  | 'TENANT_MODE'
  | 'WRITE_RATE_LIMIT_PER_MINUTE'
>

/** Of one session on one node: far more than any client needs, whose access tokens live for 15 minutes. */
const ROTATIONS_PER_MINUTE = 60

const rotationsWithin = (limit: number) => createRateLimiter(Math.min(limit, ROTATIONS_PER_MINUTE))

const AUTH_TABLES = {
  ...SECOND_FACTOR_TABLES,
  ...SESSION_TABLES,
  ...ACCOUNT_TOKEN_TABLES,
  ...SIGNING_KEY_TABLES,
}

/** The session of a caller who was signed out while their request ran. */
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
  /** Ends sessions of a user, or of a whole tenant, within the transaction of the cause. */
  endSessions: Sessions['end']
  passwordSet: Recovery['passwordSet']
  /** The mails that administrators have sent to users. */
  accountMails: Pick<
    Recovery,
    'addressChanged' | 'countInvitation' | 'invite' | 'takeVerification' | 'welcome'
  > & { tellApplicant: TellApplicant }
}

/** What other features do, handed in: they do not know each other. */
export interface Handed {
  disownChat: Disown
  /** The people of the demo, where this service makes one. */
  demo: Demo | null
}

export async function openAuth(core: Core, handed: Handed): Promise<Auth> {
  const { db, signInDb, changes, clock, mailer, config } = core
  const keys = await openSigningKeys(signInDb, changes, core.sealer, clock, core.log)
  const askTenant = tenantAsker(new URL(core.publicUrl).hostname, config.TENANT_MODE === 'single')
  const sessions = openSessions(core, keys)
  const onUser = actingOn(db, requireSignedIn)
  const userSessions = userSessionsService({ clock, readUser: readingUsers(db), onUser })
  const tell = noticesTo({ mailer, clock })
  const secondFactor = secondFactorService({
    ...core,
    sessions,
    tell,
    onUser,
    checkPassword: passwordCheck(core),
  })
  const disown = [secondFactor.disown, handed.disownChat]
  const addressLeft = noticeToFormerAddress(core)
  const recovery = recoveryService({ ...core, sessions, tell, addressLeft, disown })
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
  return {
    name: 'auth',
    ...DECLARED,
    keys,
    sessions,
    secondFactor,
    endSessions: sessions.end,
    passwordSet: recovery.passwordSet,
    accountMails: { ...recovery, tellApplicant: noticesToApplicants(core) },
    operations: [
      ...signInOperations(signIn),
      ...sessionOperations(sessions),
      ...userSessionOperations(userSessions),
      ...consoleOperations(consoleSessions(sessions, signIn, core.log), welcome),
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
    states: sessionStates(db, changes),
    logins: lastLogins(db),
    access: accessTokens(keys, clock, publicUrl),
    rotations: rotationsWithin(config.WRITE_RATE_LIMIT_PER_MINUTE),
  })
}

const capabilitiesOf = ({ isConfigured }: Mailer) => ({
  // Without SMTP the links lie in the outbox folder: they reach nobody by themselves.
  password_reset_available: isConfigured,
  registration_available: true,
  totp_available: true,
})

/** A new key signs once the one before is `maxAgeMs` old. */
const keyRotation = (keys: SigningKeys, maxAgeMs: number): Upkeep => ({
  what: 'rotating the signing key',
  everyMs: HOUR,
  // The key of before signs on until it goes well.
  isNeededToServe: false,
  run: () => keys.rotateWhenOlder(maxAgeMs),
})
