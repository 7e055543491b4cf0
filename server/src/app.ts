/** The composition root: the list of features, and the order in which the service starts and stops. */
import { type AppDeps, CORE_ROOT_SEALED, type Core, openCore } from './core.ts'
import { openAudit } from './features/audit/index.ts'
import {
  openAuth,
  requireSignedIn,
  SEALED_SIGNING_KEYS,
  SECOND_FACTORS,
} from './features/auth/index.ts'
import {
  BACKUP_TABLES,
  backupIdentity,
  openBackups,
  restoreFile as restoreFileOf,
  storeBy,
  verifyBackupFile,
} from './features/backups/index.ts'
import { openDepartments } from './features/departments/index.ts'
import { openEncryption, verifySealed } from './features/encryption/index.ts'
import { openHealth } from './features/health/index.ts'
import {
  MESSENGER_LINKS,
  openMessenger,
  SEALED_CODES,
  SEALED_REPLIES,
} from './features/messenger/index.ts'
import { GRANTS, openPatients, PATIENTS, PURGED_PATIENTS } from './features/patients/index.ts'
import { openPayments, PAYMENT_NOTIFICATIONS, showAmount } from './features/payments/index.ts'
import { openPreferences } from './features/preferences/index.ts'
import { openSelfHealing, SELF_HEALING_TABLES } from './features/self-healing/index.ts'
import { DEMO, openSetup } from './features/setup/index.ts'
import { findPlatformTenant, openTenants, purgeDeletedTenants } from './features/tenants/index.ts'
import { findUnfitHeads, isActiveDoctor, openUsers } from './features/users/index.ts'
import { openWebhooks, WEBHOOK_SECRETS } from './features/webhooks/index.ts'
import type { RootSealed, SealedTable } from './platform/crypto/index.ts'
import type { Conflicts } from './platform/db/index.ts'
import type { Background, Feature } from './platform/feature.ts'
import {
  type AnyOperation,
  addConsole,
  addDocs,
  addOperations,
  addRedirects,
  BUILT_CONSOLE,
  type Guards,
  openapiOperation,
  openLimits,
  openServer,
  stopServing,
} from './platform/http/index.ts'
import type { RestoreColumns } from './platform/restore-columns.ts'
import type { RestoreRules } from './platform/restore-rule.ts'
import { closerOf, endTogether, type OnClose } from './platform/undo.ts'
import { startUpkeep } from './platform/upkeep.ts'

/** What no feature offers yet; one that does takes its line away. */
const NOT_BUILT: Feature = {
  name: 'not built',
  capabilities: {
    fhir_enabled: false,
    siem_export_enabled: false,
  },
}

/** Opens the features, each behind those that it calls, be it by a function that is handed in. */
async function openFeatures(core: Core, onClose: OnClose) {
  const opened = <F extends Feature>(feature: F): F => {
    onClose(feature.name, () => feature.close?.())
    return feature
  }
  const messenger = opened(await openMessenger(core, { showAmount, requireSignedIn }))
  const demo = core.config.DEMO ? DEMO : null
  const auth = opened(await openAuth(core, { ...messenger, demo }))
  const features = {
    auth,
    tenants: opened(openTenants(core, { ...auth, requireSignedIn })),
    departments: opened(
      openDepartments(core, { mayHead: isActiveDoctor, requireSignedIn, findUnfitHeads }),
    ),
    users: opened(openUsers(core, { ...auth, leaves: messenger.userLeaves, requireSignedIn })),
    preferences: opened(openPreferences(core)),
    audit: opened(openAudit(core)),
    patients: opened(openPatients(core)),
    webhooks: opened(openWebhooks(core)),
    payments: opened(openPayments(core)),
    messenger,
    setup: opened(openSetup(core)),
  }
  const list: readonly Feature[] = Object.values(features)
  const encryption = opened(openEncryption(core, SEALED))
  const tables: RestoreRules = Object.assign(
    {},
    core.tables,
    BACKUP_TABLES,
    SELF_HEALING_TABLES,
    encryption.tables,
    ...list.map((feature) => feature.tables ?? {}),
  )
  const columns: RestoreColumns = Object.assign(
    {},
    core.columns,
    ...list.map((feature) => feature.columns ?? {}),
  )
  const steps = list.flatMap(({ restoring }) => restoring ?? [])
  const backups = opened(
    await openBackups(core, {
      tables,
      columns,
      steps,
      sealed: SEALED,
      rootSealed: ROOT_SEALED,
      purgedRecords: PURGED_RECORDS,
      conflicts: conflictsOf(list),
    }),
  )
  const mended: readonly Feature[] = [...list, encryption, backups]
  const fixes = [...core.fixes, ...mended.flatMap((feature) => feature.fixes ?? [])]
  const selfHealing = opened(await openSelfHealing(core, fixes))
  const health = opened(openHealth(core, [...mended, selfHealing, NOT_BUILT]))
  const all = { ...features, encryption, backups, selfHealing, health }
  return { features: all, tables, columns, steps, fixes }
}

/** All that data keys seal, of blocked users and of what is deleted too. */
export const SEALED: readonly SealedTable[] = [
  SECOND_FACTORS,
  PATIENTS,
  GRANTS,
  WEBHOOK_SECRETS,
  PAYMENT_NOTIFICATIONS,
  MESSENGER_LINKS,
]

/** Records that come back from no backup once they were destroyed. */
const PURGED_RECORDS = [PURGED_PATIENTS]

/** All that the root key seals. */
export const ROOT_SEALED: readonly RootSealed[] = [
  ...CORE_ROOT_SEALED,
  SEALED_SIGNING_KEYS,
  SEALED_CODES,
  SEALED_REPLIES,
]

/** For the command line: what needs no service on a database. */
export { backupIdentity, findPlatformTenant, storeBy, verifyBackupFile, verifySealed }

/** Restores a backup into an empty database, without what was purged since. */
export const restoreFile = (
  path: string,
  deps: Omit<Parameters<typeof restoreFileOf>[1], 'purgedRecords'>,
) => restoreFileOf(path, { ...deps, purgedRecords: PURGED_RECORDS })

export type App = Awaited<ReturnType<typeof openApp>>

/** Background work by name: the jobs, or the work of a feature. */
export type BackgroundWork = 'jobs' | keyof Awaited<ReturnType<typeof openFeatures>>['features']

/** Puts the service together on a migrated database; it does not listen yet. */
export async function openApp(deps: AppDeps) {
  const { log } = deps
  // A start that fails lets go of all that it has taken so far, the last first, as the stop does.
  await using undo = new AsyncDisposableStack()
  const onClose = closerOf(undo, log)
  const core = await openCore(deps, onClose)
  const { features, tables, columns, steps, fixes } = await openFeatures(core, onClose)
  const list: readonly Feature[] = Object.values(features)
  // All that is at work ends side by side: a slow request must not keep a claimed job from others.
  const working: (() => unknown)[] = [
    core.hold.stop,
    ...list.map((feature) => () => feature.stopping?.()),
    core.jobs.stop,
  ]
  onClose('what runs', () => endTogether(working, log))
  purgeDeletedTenants(core, list)
  const own = list.flatMap((feature) => feature.operations ?? [])
  const { outgoing } = features.webhooks
  const operations = [...own, openapiOperation(own, { version: core.version, outgoing })]
  const { authenticate } = features.auth.sessions
  const server = await serve(core, list, operations, authenticate, deps.consoleFolder)
  working.push(() => stopServing(server, core.clock))
  working.push(
    await startUpkeep(
      [core, ...list].flatMap(({ upkeep = [] }) => [...upkeep]),
      core,
    ),
    core.refusals.keepWritten(log),
  )
  await core.jobs.start()
  requireKnown(deps.background ?? [], ['jobs', ...list.map(({ name }) => name)])
  const background = new Map<string, Pick<Background, 'idle'>>([['jobs', core.jobs]])
  for (const feature of list.filter(({ name }) => core.runs(name))) {
    const begin = () => {
      const begun = feature.background?.()
      if (!begun) return
      background.set(feature.name, begun)
      working.push(() => begun.stop())
    }
    if (feature.goesOut) core.hold.whenReleased(begin)
    else begin()
  }

  const kept = undo.move()
  return {
    server,
    features,
    db: core.db,
    operations,
    /** The restore rules of tables and columns, and the steps of the features within a restore. */
    tables,
    columns,
    steps,
    /** The faults that it can find in itself. */
    fixes,
    metrics: core.metrics,
    /** Whether mails, webhooks and messages wait, and how they are let go. */
    hold: core.hold,
    /** Resolves when the background work of that name is done for now; at once where it does not run here. */
    idle: async (work: BackgroundWork) => void (await background.get(work)?.idle()),
    /** Makes what an empty database lacks, and tells of its superadmin. Returns how to announce the service. */
    setUp: features.setup.setUp,
    /** Stops accepting, finishes what runs, and lets go of the database. */
    close: () => kept.disposeAsync(),
  }
}

/** Collects the problems that broken constraints of these features are reported as. */
const conflictsOf = (features: readonly Feature[]): Conflicts =>
  Object.assign({}, ...features.map(({ conflicts }) => conflicts))

/** @throws Error for the name of background work that nothing has */
function requireKnown(named: readonly string[], known: readonly string[]): void {
  const unknown = named.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`unknown background work: ${unknown.join(', ')}`)
}

async function serve(
  { config, clock, log, metrics, refusals, db, publicUrl }: Core,
  features: readonly Feature[],
  operations: readonly AnyOperation[],
  authenticate: Guards['authenticate'],
  consoleFolder = BUILT_CONSOLE,
) {
  const limits = openLimits({
    requests: config.RATE_LIMIT_PER_MINUTE,
    guesses: config.AUTH_RATE_LIMIT_PER_MINUTE,
    notifications: config.PAYMENT_RATE_LIMIT_PER_MINUTE,
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
  addOperations(server, operations, {
    authenticate,
    requireOpen: db.requireOpen,
    publicUrl: new URL(publicUrl),
    refused: (caller, operation, { code }) => refusals.count(caller, operation.id, code),
    limits,
    log,
    clock,
    conflicts: conflictsOf(features),
  })
  for (const { redirects = {} } of features) addRedirects(server, redirects)
  await addDocs(server)
  await addConsole(server, { folder: consoleFolder, publicUrl, log })
  return server
}
