/** What all features share, opened before them: database, jobs, mails, keys, the way out. */
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
import { databaseFixes } from './platform/db/fixes/index.ts'
import {
  type Changes,
  type Connection,
  type DatabaseAddress,
  listWritesUpkeep,
  openScopes,
  ownerClient,
  type Scopes,
  watchChanges,
} from './platform/db/index.ts'
import type { State } from './platform/feature.ts'
import type { Fix } from './platform/fix.ts'
import { type OutboundHold, openOutboundHold } from './platform/hold/index.ts'
import { type Jobs, openJobs } from './platform/jobs/index.ts'
import {
  enterActions,
  JOURNAL_TABLES,
  openReaders,
  openReadJournal,
  openRefusals,
  partitionsUpkeep,
  type Readers,
  type ReadJournal,
  type Refusals,
} from './platform/journal/index.ts'
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
import type { RestoreColumns } from './platform/restore-columns.ts'
import type { RestoreRules } from './platform/restore-rule.ts'
import { openThrottle, THROTTLE_TABLES, type Throttle } from './platform/throttle/index.ts'
import type { OnClose } from './platform/undo.ts'
import type { Upkeep } from './platform/upkeep.ts'

export const VERSION = packageJson.version

/** Connections of what signs people in, which has to go on whatever else is asked for. */
const SIGN_IN_POOL_SIZE = 6

const CORE_TABLES: RestoreRules = {
  ...KEY_TABLES,
  ...JOURNAL_TABLES,
  ...THROTTLE_TABLES,
  list_writes: 'made anew',
  migrations: 'made anew',
}

/** The restore rules of these tables and their columns. */
const CORE_DECLARED = { tables: CORE_TABLES, columns: KEY_COLUMNS } as const

/** What the root key seals that no feature has. */
export const CORE_ROOT_SEALED: readonly RootSealed[] = [...KEYS_ROOT_SEALED, SEALED_MAILS]

export interface AppDeps {
  config: Config
  address: DatabaseAddress
  /** Where people reach the service; the issuer of its tokens. */
  publicUrl: string
  rootKeys: RootKeySource
  log: Logger
  /** The time of the machine by default. */
  clock?: Time
  /** The database's time in milliseconds since the epoch; the database is asked by default. */
  databaseNow?: () => Promise<number>
  /** The folder of the built console; `console/dist` by default. */
  consoleFolder?: string | undefined
  /** Both by default. */
  role?: Role
  /** The background work of a role other than `api`, by the names of features, or `jobs`; all by default. */
  background?: readonly string[]
}

/** What a process does: answer requests, do the background work, or both. */
export type Role = 'api' | 'worker' | 'all'

export interface Core {
  readonly config: Config
  readonly clock: Time
  readonly log: Logger
  readonly publicUrl: string
  /** Returns whether this process does the background work of that name. */
  readonly runs: (work: string) => boolean
  /** Of the service. */
  readonly version: string
  readonly db: Scopes
  /** Connections of their own for signing in. */
  readonly signInDb: Scopes
  /** Opens further connections; whoever does closes them. */
  openPool(size: number): Scopes
  readonly changes: Changes
  /** Work is registered while the features open: the jobs start behind them. */
  readonly jobs: Jobs
  /** Keys of the service, each for one purpose. */
  readonly deriveKey: DeriveKey
  /** Keys of the root key, and of those before it that are kept: the current one's first. */
  readonly ofRootKeys: readonly [DeriveKey, ...DeriveKey[]]
  /** Seals by the root key. */
  readonly sealer: Sealer
  /** Seals by the key of a tenant. */
  readonly keyRing: KeyRing
  readonly passwords: Passwords
  readonly throttle: Throttle
  readonly mailer: Mailer
  /** Whether what goes out or destroys by itself waits, as in a restored copy. */
  readonly hold: OutboundHold
  /** Which targets tenants may choose (`WEBHOOK_ALLOW_*`). */
  readonly targets: TargetPolicy
  /** Requests to these targets. */
  readonly outbound: Outbound
  readonly refusals: Refusals
  /** Who saw which records: written before these leave. */
  readonly readJournal: ReadJournal
  /** Who has to follow the journal. */
  readonly readers: Readers
  readonly metrics: Metrics
  readonly checks: Readonly<Record<string, () => State>>
  readonly upkeep: readonly Upkeep[]
  /** The faults that no feature has. */
  readonly fixes: readonly Fix[]
  /** The tables that no feature has. */
  readonly tables: RestoreRules
  /** The restore rules of the columns of these tables. */
  readonly columns: RestoreColumns
  /** Opens a connection as the owner of the tables, without time limits; whoever does ends it. */
  openConnection(): Connection
}

/** What a feature needs of the core, and of its configuration. */
export type Needs<Part extends keyof Core, Setting extends keyof Config = never> = Pick<
  Core,
  Part
> & { readonly config: Pick<Config, Setting> }

/** Opens it on a migrated database. What it has opened it says to `onClose`, also when it fails. */
export async function openCore(deps: AppDeps, onClose: OnClose): Promise<Core> {
  const { config, address, log, clock = systemTime } = deps
  const runs = backgroundFilter(deps)
  const { changes, openPool, db, signInDb } = openPools(deps, clock, onClose)
  await enterActions(db)
  const passwords = await openPasswords(
    { memoryCost: config.PASSWORD_MEMORY_KIB, timeCost: config.PASSWORD_PASSES, parallelism: 1 },
    hashesAtOnce(availableParallelism(), config.UV_THREADPOOL_SIZE),
    clock,
  )
  const { sealer, deriveKey, ofRoots } = await openRootKeys(db, deps.rootKeys)
  log.info({ root_key: sealer.fingerprint }, 'the root key opens the database')
  const keyRing = await openKeyRing(db, sealer, changes)
  const rests = () => changes.isClosed(null)
  const jobs = openJobs({ address, clock, log, works: runs('jobs'), rests })
  onClose('the jobs', jobs.close)
  const hold = await openOutboundHold(db, changes, log)
  const mailer = mailerOf(config, { jobs, sealer, log, clock, when: hold.whenReleased })
  const targets = targetsOf(config)
  const outbound = openOutbound({ policy: targets, clock })
  onClose('the way out', outbound.close)
  const refusals = openRefusals(db, clock)
  onClose('the refusals', refusals.writeAll)
  const readJournal = openReadJournal(db)
  onClose('the journal of reads', readJournal.stop)
  const readers = openReaders({ clock, waits: () => hold.since() !== null })
  const openConnection = () => ownerClient(address)
  return {
    config,
    clock,
    log,
    publicUrl: deps.publicUrl,
    runs,
    version: VERSION,
    db,
    signInDb,
    openPool,
    changes,
    jobs,
    deriveKey,
    ofRootKeys: ofRoots,
    sealer,
    keyRing,
    passwords,
    throttle: openThrottle(signInDb, clock, log),
    mailer,
    hold,
    targets,
    outbound,
    refusals,
    readJournal,
    readers,
    metrics: openMetrics(() => hold.since() !== null, log, clock),
    checks: checksOf(changes, hold, db),
    upkeep: [...partitionsUpkeep(db), listWritesUpkeep(db), hold.upkeep, clockUpkeep(db)],
    fixes: [...jobs.fixes, ...readers.fixes, ...databaseFixes({ openConnection, clock })],
    ...CORE_DECLARED,
    openConnection,
  }
}

const backgroundFilter =
  ({ role = 'all', background }: AppDeps) =>
  (work: string): boolean =>
    role !== 'api' && (background === undefined || background.includes(work))

function openPools({ config, address, log, databaseNow }: AppDeps, clock: Time, onClose: OnClose) {
  const changes = watchChanges(address, log, clock)
  const openPool = (size: number) =>
    openScopes(address, { size, changes, log, clock, ...(databaseNow && { databaseNow }) })
  const db = openPool(config.DATABASE_POOL_SIZE)
  onClose('the database', db.close)
  const signInDb = openPool(SIGN_IN_POOL_SIZE)
  onClose('the database of sign-ins', signInDb.close)
  // Before the database: what is heard may be read anew there.
  onClose('the listener', changes.stop)
  return { changes, openPool, db, signInDb }
}

/** Without a mail server, mails are files. */
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

/** Compares the clocks every minute, so that health reports show a wrong clock before a deletion is due. */
const clockUpkeep = (db: Scopes): Upkeep => ({
  what: "comparing the clock with the database's",
  everyMs: MINUTE,
  isNeededToServe: false,
  run: () => db.agreedClock.read(),
})

const checksOf = (changes: Changes, hold: OutboundHold, db: Scopes): Core['checks'] => ({
  clock: () => (db.agreedClock.agrees() ? 'ok' : 'degraded'),
  changes: () => (changes.trusted() ? 'ok' : 'degraded'),
  outbound: () => (hold.since() === null ? 'ok' : 'degraded'),
})
