/** The composition root: the only file that knows every feature and puts them together. */
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from './config.ts'
import { auditOperations, auditService } from './features/audit/index.ts'
import {
  accessTokens,
  accountOperations,
  authOperations,
  lastLogins,
  noticesTo,
  openSigningKeys,
  purgeSignIn,
  recoveryService,
  registrationService,
  secondFactorService,
  sessionStates,
  sessionsService,
  signInService,
  tenantAsker,
} from './features/auth/index.ts'
import { departmentOperations, departmentsService } from './features/departments/index.ts'
import { healthOperations, healthService } from './features/health/index.ts'
import { preferenceOperations, preferencesService } from './features/preferences/index.ts'
import { announcement, bootstrap, makeDemo } from './features/setup/index.ts'
import { purgeDeletedTenants, tenantOperations, tenantsService } from './features/tenants/index.ts'
import { isActiveDoctor, userOperations, usersService } from './features/users/index.ts'
import {
  ensureWebhookDays,
  keepWebhookDaysAhead,
  openWebhooks,
  purgeWebhooks,
  webhookOperations,
} from './features/webhooks/index.ts'
import { type Clock, DAY, HOUR, systemClock } from './lib/clock.ts'
import { hashesAtOnce, openKeyRing, openPasswords, openSealer } from './platform/crypto/index.ts'
import {
  type DatabaseAddress,
  keepForgettingWrites,
  openScopes,
  watchChanges,
} from './platform/db/index.ts'
import {
  type AnyOperation,
  addDocs,
  addOperations,
  addPages,
  openApiDocument,
  openapiOperation,
  openLimits,
  openServer,
  stopServing,
} from './platform/http/index.ts'
import { openJobs } from './platform/jobs/index.ts'
import {
  ensurePartitions,
  enterActions,
  keepPartitionsAhead,
  openRefusals,
} from './platform/journal/index.ts'
import { openMailer, outboxTransport, smtpTransport } from './platform/mail/index.ts'
import { canFail } from './platform/observe/can-fail.ts'
import type { Logger } from './platform/observe/log.ts'
import { type Metrics, openMetrics } from './platform/observe/metrics.ts'
import { openPace, openThrottle } from './platform/throttle/index.ts'

export const VERSION = packageJson.version

const DELIVERY_POOL_SIZE = 4
/** Connections of what signs people in, which has to go on whatever else is asked for. */
const SIGN_IN_POOL_SIZE = 3
/** For messages that are under way at a stop. */
const DELIVERY_STOP_MS = 4_000

export interface AppDeps {
  config: Config
  address: DatabaseAddress
  /** Where people reach the service; the issuer of its tokens. */
  publicUrl: string
  rootKey: Uint8Array
  log: Logger
  clock?: Clock
  /** Both by default. */
  role?: Role
}

/** What a process does: answer requests, do the background work, or both. */
export type Role = 'api' | 'worker' | 'all'

export type App = Awaited<ReturnType<typeof openApp>>

type Services = Awaited<ReturnType<typeof openServices>>['services']

/** Lets go of something; its failure is logged under the name, and keeps nothing else from its end. */
type OnClose = (what: string, close: () => unknown) => void

/** Puts the service together on a migrated database; it does not listen yet. */
export async function openApp(deps: AppDeps) {
  const { config, log } = deps
  // A start that fails lets go of all that it has taken so far, the last first, as the stop does.
  await using undo = new AsyncDisposableStack()
  const onClose: OnClose = (what, close) =>
    undo.defer(async () => void (await canFail(Promise.try(close), `closing ${what}`, log)))
  const state = { isServing: true }
  const opened = await openServices(deps, () => state.isServing, onClose)
  const { services, db } = opened
  const refusals = openRefusals(db, deps.clock ?? systemClock)
  onClose('the refusals', refusals.writeAll)
  // All that is at work ends side by side: a slow request must not keep a claimed job from others.
  const working: (() => unknown)[] = [opened.jobs.stop, opened.webhooks.stopTests]
  onClose('what runs', () =>
    Promise.all(working.map((stop) => canFail(Promise.try(stop), 'a stop', log))),
  )
  const metrics = openMetrics()
  const limits = openLimits({
    requests: config.RATE_LIMIT_PER_MINUTE,
    guesses: config.AUTH_RATE_LIMIT_PER_MINUTE,
    payments: config.PAYMENT_RATE_LIMIT_PER_MINUTE,
    userWrites: config.WRITE_RATE_LIMIT_PER_MINUTE,
    tenantWrites: config.TENANT_WRITE_RATE_LIMIT_PER_MINUTE,
  })
  const server = await openServer({
    trustedProxies: config.TRUSTED_PROXIES,
    corsOrigins: config.CORS_ORIGINS,
    limits,
    log,
    onAnswered: metrics.answered,
  })
  working.push(() => stopServing(server))
  const operations = operationsOf(services)
  addOperations(server, operations, {
    authenticate: services.auth.sessions.authenticate,
    refused: (caller, operation, { code }) => refusals.count(caller, operation.id, code),
    limits,
    log,
  })
  await addPages(server)
  await addDocs(server, openApiDocument(operations, VERSION))
  await ensurePartitions(db)
  await enterActions(db)
  await ensureWebhookDays(db)
  working.push(startWork(opened, deps), refusals.keepWritten(log))
  await opened.jobs.start()
  if (deps.role !== 'api') working.push(startDelivery(opened, deps, metrics))

  const kept = undo.move()
  return {
    server,
    services,
    db,
    operations,
    metrics,
    /** Makes what an empty database lacks. Answers how to announce the service at its address. */
    async setUp() {
      const made = await bootstrap(db, opened.passwords, {
        email: config.BOOTSTRAP_ADMIN_EMAIL,
        password: config.BOOTSTRAP_ADMIN_PASSWORD,
      })
      if (config.DEMO) await makeDemo(db, opened.passwords)
      return (address: string) => announcement({ address, made, hasDemo: config.DEMO })
    },
    /** Stops accepting, finishes what runs, and lets go of the database. */
    close() {
      state.isServing = false
      return kept.disposeAsync()
    },
  }
}

async function openServices(deps: AppDeps, isServing: () => boolean, onClose: OnClose) {
  const { config, address, log, clock = systemClock } = deps
  const changes = watchChanges(address, log)
  const db = openScopes(address, { size: config.DATABASE_POOL_SIZE, changes, log })
  onClose('the database', db.close)
  const signInDb = openScopes(address, { size: SIGN_IN_POOL_SIZE, changes, log })
  onClose('the database of sign-ins', signInDb.close)
  // Before the database: what is heard may be read anew there.
  onClose('the listener', changes.stop)
  const passwords = await openPasswords(
    { memoryCost: config.PASSWORD_MEMORY_KIB, timeCost: config.PASSWORD_PASSES, parallelism: 1 },
    hashesAtOnce(availableParallelism(), config.UV_THREADPOOL_SIZE),
  )
  const sealer = openSealer(deps.rootKey)
  const keys = await openSigningKeys(signInDb, changes, sealer, clock, log)
  const keyRing = await openKeyRing(db, sealer)
  const access = accessTokens(keys, clock, deps.publicUrl)
  changes.subscribe((topic) => {
    if (topic === 'keys') access.forget()
    const [, tenantId] = /^tenant:(\d+)$/.exec(topic ?? '') ?? []
    if (topic === null) keyRing.forget()
    else if (tenantId) keyRing.forget(Number(tenantId))
  })
  const jobs = openJobs({ address, log, works: deps.role !== 'api' })
  onClose('the jobs', jobs.close)
  const outbox = join(resolve(config.DATA_DIR), 'outbox')
  const transport = config.SMTP_URL ? smtpTransport(config.SMTP_URL) : outboxTransport(outbox)
  const mailer = openMailer({ jobs, sealer, transport, from: config.MAIL_FROM, log, clock })
  const throttle = openThrottle(signInDb, clock)
  const multiTenant = config.TENANT_MODE === 'multi'
  const askTenant = tenantAsker(new URL(deps.publicUrl).hostname, !multiTenant)

  const states = sessionStates(signInDb, changes)
  const sessions = sessionsService({
    db: signInDb,
    clock,
    states,
    logins: lastLogins(signInDb),
    access,
  })
  const tell = noticesTo({ mailer, clock })
  const recovery = recoveryService({
    db,
    clock,
    passwords,
    sessions,
    mailer,
    tell,
    jobs,
    throttle,
    publicUrl: deps.publicUrl,
  })
  const users = usersService({
    db,
    clock,
    passwords,
    throttle,
    endSessions: (tx, user, reason) =>
      sessions.end(tx, { tenantId: user.tenant_id, userId: user.id }, reason),
    passwordSet: recovery.passwordSet,
  })
  const { onUser, checkPassword } = users
  const secondFactor = secondFactorService({
    db,
    clock,
    keyRing,
    throttle,
    sessions,
    tell,
    onUser,
    checkPassword,
  })
  const signIn = signInService({
    db: signInDb,
    clock,
    passwords,
    sessions,
    secondFactor,
    throttle,
    pace: openPace(config.AUTH_RATE_LIMIT_PER_MINUTE),
    askTenant,
    log,
    needsVerifiedEmail: mailer.isConfigured && config.EMAIL_VERIFICATION === 'required',
  })
  const registrations = registrationService({
    db,
    passwords,
    throttle,
    recovery,
    askTenant,
  })
  purgeSignIn({ db, clock, jobs })
  const webhooks = openWebhooks({
    db,
    clock,
    jobs,
    keyRing,
    log,
    version: VERSION,
    policy: {
      allowHttp: config.WEBHOOK_ALLOW_HTTP,
      allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
    },
    keepDays: config.WEBHOOK_RETENTION_DAYS,
  })
  onClose('the way out', webhooks.close)
  purgeDeletedTenants({ db, clock, jobs }, config.TENANT_PURGE_DAYS, [purgeWebhooks])

  const services = {
    accounts: { registrations, recovery, secondFactor, askTenant },
    audit: auditService(db),
    auth: {
      signIn,
      sessions,
      keys,
      // What other features offer joins here as they come; what is not there is not available.
      capabilities: () => ({
        // Without SMTP the links lie in the outbox folder: they reach nobody by themselves.
        password_reset_available: mailer.isConfigured,
        fhir_enabled: false,
        siem_export_enabled: false,
        messenger_bot_enabled: false,
        registration_available: true,
        totp_available: true,
        tenant_mode: multiTenant,
        demo_mode: config.DEMO,
      }),
    },
    departments: departmentsService({ db, clock, changes, mayHead: isActiveDoctor }),
    health: healthService({
      db,
      version: VERSION,
      embedded: config.DATABASE_URL === undefined,
      multiTenant,
      encryptionEnabled: deps.rootKey.length > 0,
      checks: { changes: () => (changes.trusted() ? 'ok' : 'degraded') },
      isServing,
    }),
    preferences: preferencesService(db),
    tenants: tenantsService({
      db,
      clock,
      changes,
      endSessions: (tx, tenantId, reason) => sessions.end(tx, { tenantId }, reason),
    }),
    users,
    webhooks: webhooks.services,
  }
  return { services, db, changes, passwords, keys, jobs, mailer, webhooks }
}

/** Starts to deliver webhooks, on connections of their own. Answers how to stop. */
function startDelivery(
  { changes, mailer, webhooks }: Awaited<ReturnType<typeof openServices>>,
  { address, log }: AppDeps,
  metrics: Metrics,
): () => Promise<void> {
  const db = openScopes(address, { size: DELIVERY_POOL_SIZE, changes, log })
  const delivery = webhooks.startDelivery({ db, changes, mailer, onAttempt: metrics.attempted })
  return () => delivery.stop(DELIVERY_STOP_MS).finally(db.close)
}

/** Upkeep that every node does, each harmless when another has just done it. Answers how to stop. */
function startWork(
  { db, keys }: Awaited<ReturnType<typeof openServices>>,
  { config, log }: AppDeps,
): () => void {
  const stopPartitions = keepPartitionsAhead(db, log)
  const stopDays = keepWebhookDaysAhead(db, log)
  const stopForgetting = keepForgettingWrites(db, log)
  const maxAge = config.SIGNING_KEY_DAYS * DAY
  const rotate = () => void canFail(keys.rotateWhenOlder(maxAge), 'rotating the signing key', log)
  rotate()
  const rotation = setInterval(rotate, HOUR)
  rotation.unref()
  return () => {
    stopPartitions()
    stopDays()
    stopForgetting()
    clearInterval(rotation)
  }
}

/** Every operation of the service, from its features. */
function operationsOf(services: Services): AnyOperation[] {
  const operations = [
    ...tenantOperations(services.tenants),
    ...departmentOperations(services.departments),
    ...userOperations(services.users),
    ...authOperations(services.auth),
    ...accountOperations(services.accounts),
    ...preferenceOperations(services.preferences),
    ...auditOperations(services.audit),
    ...webhookOperations(services.webhooks),
    ...healthOperations(services.health),
  ]
  return [...operations, openapiOperation(operations, VERSION)]
}

/** The OpenAPI document; made from what the operations declare, so nothing needs to run for it. */
export function describeApi(): object {
  const nothing: object = new Proxy({}, { get: () => nothing })
  return openApiDocument(operationsOf(nothing as Services), VERSION)
}
