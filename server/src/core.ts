/** The parts that all features share. They are opened before the features. */
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import type { Config } from './config/config.ts'
import { MINUTE } from './lib/clock.ts'
import { systemTime, type Time } from './lib/time.ts'
import {
  type DeriveKey,
  hashesAtOnce,
  KEY_COLUMNS,
  KEY_TABLES,
  KEYS_ROOT_SEALED,
  type KeyRing,
  openKeyRing,
  openPasswords,
  openRootKeys,
  type Passwords,
  type RootKeySource,
  type RootSealed,
  type Sealer,
} from './platform/crypto/index.ts'
import {
  type Changes,
  type DatabaseAddress,
  entryKey,
  invalidationsUpkeep,
  listWritesUpkeep,
  type Outage,
  openReplica,
  openScopes,
  ownerClient,
  type PgConnection,
  type Replica,
  recentEntries,
  type Scopes,
  watchChanges,
  watchDatabaseSilence,
  watchOutages,
} from './platform/db/index.ts'
import type { ComponentHealth, HealthCheck } from './platform/feature/feature.ts'
import type { Fix } from './platform/feature/fix.ts'
import type { RestoreColumns } from './platform/feature/restore-columns.ts'
import type { RestoreRules } from './platform/feature/restore-rule.ts'
import { type OutboundHold, openOutboundHold } from './platform/hold/hold.ts'
import { type Jobs, openJobs, TRACKED_JOB_TABLES } from './platform/jobs/index.ts'
import {
  enterActions,
  JOURNAL_TABLES,
  type LostWrites,
  openLostWrites,
  openReaders,
  openReadJournal,
  openRefusals,
  partitionsUpkeep,
  type Readers,
  type ReadJournal,
  type Refusals,
} from './platform/journal/index.ts'
import type { OnClose } from './platform/lifecycle/undo.ts'
import type { Upkeep } from './platform/lifecycle/upkeep.ts'
import {
  type Mailer,
  type MailerOptions,
  openMailer,
  outboxTransport,
  SEALED_MAILS,
  smtpTransport,
} from './platform/mail/index.ts'
import { type Outbound, openOutbound, type TargetPolicy } from './platform/net/index.ts'
import type { Logger } from './platform/observe/log.ts'
import { type Metrics, openMetrics } from './platform/observe/metrics.ts'
import { databaseFixes } from './platform/schema/repairs/index.ts'
import { openThrottle, THROTTLE_TABLES, type Throttle } from './platform/throttle/index.ts'

export const VERSION = packageJson.version

/** Connections reserved for sign-in. Sign-in must work even under high load. */
const SIGN_IN_POOL_SIZE = 6

const CORE_TABLES: RestoreRules = {
  ...KEY_TABLES,
  ...JOURNAL_TABLES,
  ...THROTTLE_TABLES,
  ...TRACKED_JOB_TABLES,
  invalidations: 'rebuilt',
  list_writes: 'rebuilt',
  migrations: 'rebuilt',
}

/** The restore rules of the core tables and of their columns. */
const CORE_DECLARED = { tables: CORE_TABLES, columns: KEY_COLUMNS } as const

/** Values that the root key encrypts and that belong to no feature. */
export const CORE_ROOT_SEALED: readonly RootSealed[] = [...KEYS_ROOT_SEALED, SEALED_MAILS]

export interface AppDeps {
  config: Config
  address: DatabaseAddress
  /** The URL at which users reach the service, and the issuer of its tokens. */
  publicUrl: string
  rootKeys: RootKeySource
  log: Logger
  /** The time source; the machine's clock by default. */
  clock?: Time
  /** Returns the database's time in milliseconds since the Unix epoch. Queries the database by default. */
  databaseNow?: () => Promise<number>
  /** The folder of the built console; `console/dist` by default. */
  consoleFolder?: string | undefined
  /** The role of this process; `all` by default. */
  role?: ProcessRole
  /** The names of the background work to do, unless the role is `api`: features or `jobs`. All of it by default. */
  background?: readonly string[]
}

export type ProcessRole = 'api' | 'worker' | 'all'

export interface Core {
  readonly config: Config
  readonly clock: Time
  readonly log: Logger
  readonly publicUrl: string
  /** Returns whether this process does the named background work. */
  readonly runs: (work: string) => boolean
  readonly version: string
  readonly db: Scopes
  /** Separate connections for sign-in. */
  readonly signInDb: Scopes
  /** The standby for long reads; undefined if none is configured. */
  readonly replica: Replica | undefined
  /** Opens further connections for background work. The caller must close them. */
  openPool(size: number): Scopes
  readonly changes: Changes
  readonly outage: Pick<Outage, 'isRecent'>
  /** The job queue. Features register jobs while they are opened. The jobs start afterwards. */
  readonly jobs: Jobs
  /** Derives keys of the service, each for one purpose. */
  readonly deriveKey: DeriveKey
  /** Derives keys from the root keys: the current one first, then former keys that are still stored. */
  readonly ofRootKeys: readonly [DeriveKey, ...DeriveKey[]]
  readonly sealer: Sealer
  readonly keyRing: KeyRing
  readonly passwords: Passwords
  readonly throttle: Throttle
  readonly mailer: Mailer
  /** Pauses outgoing messages and automatic deletions on a restored copy. */
  readonly hold: OutboundHold
  /** The policy for the targets that tenants may choose (`WEBHOOK_ALLOW_*`). */
  readonly targets: TargetPolicy
  /** Sends requests to the targets that the policy allows. */
  readonly outbound: Outbound
  readonly refusals: Refusals
  /** The journal of read accesses. An entry is written before the record is sent. */
  readonly readJournal: ReadJournal
  /** The journal readers, with the health check for readers that fall behind. */
  readonly readers: Readers
  /** Acknowledged changes that were lost when another server became the primary database. */
  readonly lostWrites: LostWrites
  readonly metrics: Metrics
  readonly checks: Readonly<Record<string, HealthCheck>>
  readonly upkeep: readonly Upkeep[]
  /** The self-healing fixes that belong to no feature. */
  readonly fixes: readonly Fix[]
  /** The tables that belong to no feature. */
  readonly tables: RestoreRules
  /** The restore rules of the columns of these tables. */
  readonly columns: RestoreColumns
  /** Opens a connection as the owner of the tables, without time limits. The caller must close it. */
  openConnection(): PgConnection
}

/** The parts of the core and of the configuration that a feature needs. */
export type Needs<Part extends keyof Core, Setting extends keyof Config = never> = Pick<
  Core,
  Part
> & { readonly config: Pick<Config, Setting> }

/** Opens the core on a migrated database. Registers every part with `onClose`, also if opening fails later. */
export async function openCore(deps: AppDeps, onClose: OnClose): Promise<Core> {
  const { config, address, clock = systemTime } = deps
  const outage = watchOutages(deps.log, clock)
  const { log } = outage
  onClose('the outage monitor', outage.stop)
  const runs = backgroundFilter(deps)
  const { recent, ...pools } = openPools({ ...deps, log }, clock, onClose)
  const { changes, db, signInDb, replica } = pools
  outage.follow(changes)
  await enterActions(db)
  const keys = await openKeys(deps, { db, changes, log, clock })
  const rests = () => changes.isInMaintenance(null)
  const jobs = openJobs({ address, changes, clock, log, works: runs('jobs'), rests })
  onClose('the jobs', jobs.close)
  const hold = await openOutboundHold(db, changes, log)
  const { sealer } = keys
  const mailer = mailerOf(config, { jobs, sealer, log, clock, when: hold.whenReleased })
  const targets = targetsOf(config)
  const outbound = openOutbound({ policy: targets, clock })
  onClose('outgoing connections', outbound.close)
  const refusals = openRefusals(db, clock)
  onClose('the journal of refusals', refusals.writeAll)
  const readJournal = openReadJournal(db)
  onClose('the journal of reads', readJournal.stop)
  const readers = openReaders({ db, clock, waits: () => hold.since() !== null })
  const metrics = openMetrics(() => hold.since() !== null, log, clock)
  const lostWrites = openLostWrites({ changes, recent, metrics, log, clock, db })
  const openConnection = () => ownerClient(address)
  const ofDatabase = databaseFixes({ openConnection })
  return {
    config,
    clock,
    log,
    publicUrl: deps.publicUrl,
    runs,
    version: VERSION,
    ...pools,
    outage,
    jobs,
    ...keys,
    throttle: openThrottle(signInDb, clock, log),
    mailer,
    hold,
    targets,
    outbound,
    refusals,
    readJournal,
    readers,
    lostWrites,
    metrics,
    checks: checksOf({ changes, hold, db, readers, replica }),
    upkeep: [...databaseUpkeep(db), hold.upkeep, readers.upkeep],
    fixes: [...jobs.fixes, ...readers.fixes, ...lostWrites.fixes, ...ofDatabase],
    ...CORE_DECLARED,
    openConnection,
  }
}

async function openKeys(
  { config, rootKeys }: AppDeps,
  { db, changes, log, clock }: Pick<Core, 'db' | 'changes' | 'log' | 'clock'>,
) {
  const passwords = await openPasswords(
    { memoryCost: config.PASSWORD_MEMORY_KIB, timeCost: config.PASSWORD_PASSES, parallelism: 1 },
    hashesAtOnce(availableParallelism(), config.UV_THREADPOOL_SIZE),
    clock,
  )
  const { sealer, deriveKey, ofRoots: ofRootKeys } = await openRootKeys(db, rootKeys)
  log.info({ root_key: sealer.fingerprint }, 'root key verified')
  const keyRing = await openKeyRing(db, sealer, changes)
  return { passwords, sealer, deriveKey, ofRootKeys, keyRing }
}

const databaseUpkeep = (db: Scopes): Upkeep[] => [
  ...partitionsUpkeep(db),
  listWritesUpkeep(db),
  invalidationsUpkeep(db),
  clockUpkeep(db),
]

const backgroundFilter =
  ({ role = 'all', background }: AppDeps) =>
  (work: string): boolean =>
    role !== 'api' && (background === undefined || background.includes(work))

function openPools({ config, address, log, databaseNow }: AppDeps, clock: Time, onClose: OnClose) {
  const changes = watchChanges(address, log, clock)
  const silence = watchDatabaseSilence({ changes, clock, probe: () => db.withPatience().ping() })
  onClose('the silence monitor', silence.stop)
  const recent = recentEntries()
  const shared = { recent, entryKey: entryKey() }
  const options = { changes, silence, ...shared, log, clock, ...(databaseNow && { databaseNow }) }
  const openPool = (size: number): Scopes => openScopes(address, { size, ...options })
  const db: Scopes = openPool(config.DATABASE_POOL_SIZE)
  onClose('the database', db.close)
  const signInDb = openPool(SIGN_IN_POOL_SIZE)
  onClose('the sign-in connections', signInDb.close)
  const { DATABASE_READ_URL: url } = config
  const replica = url ? openReplica({ url }, { db, log, clock }) : undefined
  if (replica) onClose('the replica', replica.close)
  // Must be closed before the database, because notifications may cause queries.
  onClose('the listener', changes.stop)
  const background = (size: number) => openPool(size).withPatience()
  return { changes, openPool: background, db, signInDb, replica, recent }
}

/** Returns the mailer. Without a mail server, mails are written to files. */
function mailerOf(
  { SMTP_URL, DATA_DIR, MAIL_FROM: from }: Config,
  rest: Omit<MailerOptions, 'transport' | 'from'>,
): Mailer {
  const transport = SMTP_URL
    ? smtpTransport(SMTP_URL)
    : outboxTransport(join(resolve(DATA_DIR), 'outbox'))
  return openMailer({ ...rest, transport, from })
}

const targetsOf = (config: Config): TargetPolicy => ({
  allowHttp: config.WEBHOOK_ALLOW_HTTP,
  allowedNetworks: config.WEBHOOK_ALLOWED_NETWORKS,
  allowLoopback: config.DEMO,
})

/** Compares the clocks every minute. The health report then shows a wrong clock before a deletion is due. */
const clockUpkeep = (db: Scopes): Upkeep => ({
  what: 'clock comparison with the database',
  everyMs: MINUTE,
  isNeededToServe: false,
  run: () => db.agreedClock.read(),
})

const OK = { state: 'ok' } as const

const checksOf = ({
  changes,
  hold,
  db,
  readers,
  replica,
}: Pick<Core, 'changes' | 'hold' | 'db' | 'readers' | 'replica'>): Core['checks'] => ({
  ...(replica && { replica: () => replicaState(replica) }),
  journal: readers.check,
  clock: () =>
    db.agreedClock.agrees()
      ? OK
      : {
          state: 'degraded',
          reason:
            'The clocks of this node and of the database differ. Scheduled deletion is paused. Synchronize the clocks.',
        },
  changes: () =>
    changes.trusted()
      ? OK
      : {
          state: 'degraded',
          reason:
            'This node receives no change notifications. It reads every session from the database.',
          runbook: 'service-unavailable.md',
        },
  outbound: () => {
    const since = hold.since()
    return since === null
      ? OK
      : {
          state: 'degraded',
          reason: 'Outgoing mails, webhooks and messages are held until an operator releases them.',
          since,
          runbook: 'total-loss.md',
        }
  },
})

function replicaState(replica: Replica): ComponentHealth {
  const since = replica.failingSince()
  if (since === null) return OK
  const reason =
    'The replica is not usable. Backups and exports read from the primary. See the log for the cause.'
  return { state: 'degraded', reason, since }
}
