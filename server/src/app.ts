/** The composition root: the only file that knows every feature and puts them together. */
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from './config.ts'
import { auditOperations, auditService } from './features/audit/index.ts'
import {
  accessTokens,
  accountLocator,
  accountOperations,
  authOperations,
  openSigningKeys,
  purgeSignIn,
  recoveryService,
  registrationService,
  secondFactorService,
  sessionStates,
  sessionsService,
  signInService,
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
import { openKeyRing, openPasswords, openSealer } from './platform/crypto/index.ts'
import { type DatabaseAddress, openScopes, watchChanges } from './platform/db/index.ts'
import {
  type AnyOperation,
  addDocs,
  addOperations,
  addPages,
  openApiDocument,
  openapiOperation,
  openServer,
  rateLimit,
} from './platform/http/index.ts'
import { openJobs } from './platform/jobs/index.ts'
import { actorOf, append, ensurePartitions, keepPartitionsAhead } from './platform/journal/index.ts'
import { openMailer, outboxTransport, smtpTransport } from './platform/mail/index.ts'
import { canFail } from './platform/observe/can-fail.ts'
import type { Logger } from './platform/observe/log.ts'
import { type Metrics, openMetrics } from './platform/observe/metrics.ts'
import { openThrottle } from './platform/throttle/index.ts'

export const VERSION = packageJson.version

/** Password hashes that may wait for a turn before sign-ins are answered 503. */
const WAITING_HASHES = 256
const DELIVERY_POOL_SIZE = 4
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

/** Puts the service together on a migrated database; it does not listen yet. */
export async function openApp(deps: AppDeps) {
  const { config, log } = deps
  const state = { isServing: true }
  const opened = await openServices(deps, () => state.isServing)
  const { services, db, changes } = opened
  const metrics = openMetrics()
  const server = await openServer({
    trustedProxies: config.TRUSTED_PROXIES,
    corsOrigins: config.CORS_ORIGINS,
    log,
    onAnswered: metrics.answered,
  })
  const operations = operationsOf(services)
  addOperations(server, operations, {
    authenticate: services.auth.sessions.authenticate,
    refused: (caller, operation, problem) =>
      db.inTenant(caller.tenant_id, (tx) =>
        append(tx, actorOf(caller), {
          action: 'access.refused',
          tenant_id: caller.tenant_id,
          resource_type: 'operation',
          resource_id: operation.id,
          changes: { code: problem.code },
        }),
      ),
    limits: {
      all: rateLimit('requests', config.RATE_LIMIT_PER_MINUTE),
      guesses: rateLimit('sign-in', config.AUTH_RATE_LIMIT_PER_MINUTE),
    },
    log,
  })
  await addPages(server)
  await addDocs(server, openApiDocument(operations, VERSION))
  await ensurePartitions(db)
  await ensureWebhookDays(db)
  const stopWork = startWork(opened, deps)
  await opened.jobs.start()
  const delivery = deps.role === 'api' ? undefined : startDelivery(opened, deps, metrics)

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
    async close() {
      state.isServing = false
      opened.webhooks.stopTests()
      await server.close()
      stopWork()
      await Promise.all([opened.jobs.stop(), delivery?.stop()])
      await opened.webhooks.close()
      await changes.stop()
      await db.close()
    },
  }
}

async function openServices(deps: AppDeps, isServing: () => boolean) {
  const { config, address, log, clock = systemClock } = deps
  const changes = watchChanges(address, log)
  const db = openScopes(address, {
    size: config.DATABASE_POOL_SIZE,
    changes,
    onLost: (error) => log.warn({ err: error }, 'lost a database connection'),
  })
  const passwords = await openPasswords(
    { memoryCost: config.PASSWORD_MEMORY_KIB, timeCost: config.PASSWORD_PASSES, parallelism: 1 },
    availableParallelism(),
    WAITING_HASHES,
  )
  const sealer = openSealer(deps.rootKey)
  const keys = await openSigningKeys(db, changes, sealer, clock, log)
  const keyRing = await openKeyRing(db, sealer)
  const access = accessTokens(keys, clock, deps.publicUrl)
  changes.subscribe((topic) => {
    if (topic === 'keys') access.forget()
    const [, tenantId] = /^tenant:(\d+)$/.exec(topic ?? '') ?? []
    if (topic === null) keyRing.forget()
    else if (tenantId) keyRing.forget(Number(tenantId))
  })
  const jobs = openJobs({ address, log, works: deps.role !== 'api' })
  const outbox = join(resolve(config.DATA_DIR), 'outbox')
  const transport = config.SMTP_URL ? smtpTransport(config.SMTP_URL) : outboxTransport(outbox)
  const publicHost = new URL(deps.publicUrl).hostname
  const mailer = openMailer({ jobs, sealer, transport, from: config.MAIL_FROM, log, clock })
  const throttle = openThrottle(db, clock)
  const multiTenant = config.TENANT_MODE === 'multi'
  const locate = accountLocator(db, !multiTenant)

  const sessions = sessionsService({ db, clock, states: sessionStates(db, changes), access })
  const recovery = recoveryService({
    db,
    clock,
    passwords,
    sessions,
    mailer,
    jobs,
    throttle,
    locate,
    publicUrl: deps.publicUrl,
  })
  const users = usersService({
    db,
    clock,
    passwords,
    throttle,
    endSessions: (tx, user, reason) =>
      sessions.end(tx, { tenantId: user.tenant_id, userId: user.id }, reason),
    voidLinks: recovery.voidLinks,
  })
  const { onUser, checkPassword } = users
  const secondFactor = secondFactorService({ db, clock, keyRing, throttle, onUser, checkPassword })
  const signIn = signInService({
    db,
    clock,
    passwords,
    sessions,
    secondFactor,
    throttle,
    locate,
    publicHost,
    needsVerifiedEmail: mailer.isConfigured && config.EMAIL_VERIFICATION === 'required',
  })
  const registrations = registrationService({
    db,
    passwords,
    throttle,
    recovery,
    publicHost,
    singleTenant: !multiTenant,
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
  purgeDeletedTenants({ db, clock, jobs }, config.TENANT_PURGE_DAYS, [purgeWebhooks])

  const services = {
    accounts: { registrations, recovery, secondFactor, publicHost },
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
    departments: departmentsService(db, isActiveDoctor),
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
    tenants: tenantsService(db, (tx, tenantId, reason) => sessions.end(tx, { tenantId }, reason)),
    users,
    webhooks: webhooks.services,
  }
  return { services, db, changes, passwords, keys, jobs, mailer, webhooks }
}

/** Starts to deliver webhooks, on connections of their own: requests do not wait for them. */
function startDelivery(
  { changes, mailer, webhooks }: Awaited<ReturnType<typeof openServices>>,
  { address, log }: AppDeps,
  metrics: Metrics,
): { stop(): Promise<void> } {
  const onLost = (error: Error) => log.warn({ err: error }, 'lost a database connection')
  const db = openScopes(address, { size: DELIVERY_POOL_SIZE, changes, onLost })
  const delivery = webhooks.startDelivery({ db, changes, mailer, onAttempt: metrics.attempted })
  return {
    async stop() {
      await delivery.stop(DELIVERY_STOP_MS)
      await db.close()
    },
  }
}

/** Upkeep that every node does, each harmless when another has just done it. */
function startWork(
  { db, keys }: Awaited<ReturnType<typeof openServices>>,
  { config, log }: AppDeps,
): () => void {
  const stopPartitions = keepPartitionsAhead(db, log)
  const stopDays = keepWebhookDaysAhead(db, log)
  const rotate = () =>
    void canFail(
      keys.rotateWhenOlder(config.SIGNING_KEY_DAYS * DAY),
      'rotating the signing key',
      log,
    )
  rotate()
  const rotation = setInterval(rotate, HOUR)
  rotation.unref()
  return () => {
    stopPartitions()
    stopDays()
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
