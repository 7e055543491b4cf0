/** The start command: database, migrations, service, and a stop that loses nothing. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Config, misspeltVariables, readConfig } from '../config/config.ts'
import { keySource } from '../config/key-source.ts'
import { StartupError } from '../lib/startup-error.ts'
import { systemTime } from '../lib/time.ts'
import { within } from '../lib/within.ts'
import { refuseLooseModes } from '../platform/crypto/index.ts'
import type { DatabaseAddress } from '../platform/db/index.ts'
import { migrate, requireMigrated, requireSchemaThere } from '../platform/db/migrate.ts'
import { untilOpen } from '../platform/db/until-open.ts'
import { canFail } from '../platform/observe/can-fail.ts'
import { type Logger, openLog } from '../platform/observe/log.ts'

/** What still runs after this is cut off, so that the whole stop stays within 10 s. */
const STOP_MS = 8_000
const CUT_OFF_MS = 9_500
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Connections that a process has beside the pool of requests, and some for people who look. */
const BESIDE_POOL = 36

const HELD = `This is a restored copy, and it speaks to nobody: mails, webhooks and messages wait until
\`wardkeep outbound release\`.
`

/**
 * The database that the configuration names, started if it is the embedded one.
 * @param joins whether an embedded one that another process runs will do
 */
export async function openDatabase(
  config: Config,
  log: Logger,
  joins = false,
): Promise<{ address: DatabaseAddress; stop(): Promise<void> }> {
  if (config.DATABASE_URL)
    return { address: { url: config.DATABASE_URL }, stop: async () => undefined }
  const { joinEmbedded, startEmbedded } = await import('../platform/db/embedded/index.ts')
  const open = joins ? joinEmbedded : startEmbedded
  const settings = {
    max_connections: String(Math.max(60, config.DATABASE_POOL_SIZE + BESIDE_POOL)),
  }
  const embedded = await open({ dataDir: resolve(config.DATA_DIR), log, settings })
  return { address: embedded.connection, stop: embedded.stop }
}

/**
 * As `openDatabase`, for commands that work on what is there.
 * @throws StartupError where there is no database of Wardkeep, and creates nothing
 */
export async function openExistingDatabase(
  config: Config,
  log: Logger,
  joins = false,
): ReturnType<typeof openDatabase> {
  if (!config.DATABASE_URL) {
    const { hasCluster } = await import('../platform/db/embedded/index.ts')
    const dataDir = resolve(config.DATA_DIR)
    if (!(await hasCluster(dataDir)))
      throw new StartupError(
        `DATA_DIR: there is no database in ${dataDir}. Give the DATA_DIR or DATABASE_URL of the service.`,
      )
  }
  const database = await openDatabase(config, log, joins)
  try {
    await explained(config, requireSchemaThere(database.address))
    return database
  } catch (error) {
    await database.stop()
    throw error
  }
}

/** Starts the service and keeps it up until a signal stops it. */
export async function start(role: string): Promise<void> {
  if (role !== 'api' && role !== 'worker' && role !== 'all')
    throw new StartupError('--role: must be api, worker or all.')
  const config = readConfig()
  const log = openLog(config.LOG_LEVEL)
  for (const warning of misspeltVariables()) log.warn(warning)
  // What is said for people may be lost, as the log's lines may: the service goes on.
  process.stdout.on('error', () => undefined)
  const { DATA_DIR, ENCRYPTION_KEY_FILE, ENCRYPTION_KEY_NEXT_FILE } = config
  const isProduction = config.NODE_ENV === 'production'
  const secrets = { DATA_DIR, ENCRYPTION_KEY_FILE, ENCRYPTION_KEY_NEXT_FILE }
  await refuseLooseModes(secrets, isProduction, log)
  // Before a database is made, and the passwords of a first start are shown.
  const own = role === 'worker' ? undefined : serviceAt(config)
  const ofMetrics = metricsAt(config)
  await requireFree([own, ofMetrics].filter((at) => at !== undefined))
  // The application's modules load while the database starts.
  const loading = import('../app.ts')
  // A start that fails lets go of all that it has taken so far.
  await using undo = new AsyncDisposableStack()
  const onStop = (what: string, stop: () => Promise<unknown>) =>
    undo.defer(
      async () =>
        void (await within(systemTime, STOP_MS, canFail(stop(), `stopping ${what}`, log))),
    )
  const database = await openDatabase(config, log)
  onStop('the database', database.stop)
  if (!(await restoreIsOver(database.address, config, log))) return
  await migrateOrExplain(database.address, config, log)
  const { openApp } = await loading
  const publicUrl = config.PUBLIC_URL ?? localUrl(config)
  const { address } = database
  const rootKeys = keySource(config, log)
  const app = await openApp({ config, address, publicUrl, rootKeys, log, role })
  onStop('the service', app.close)
  const announce = await app.setUp((lines) => void process.stdout.write(`${lines}\n`))
  if (ofMetrics) {
    const serving = app.metrics.serve(ofMetrics.host, ofMetrics.port)
    const metrics = await listeningOn(ofMetrics, serving)
    onStop('the metrics', async () => metrics.close())
  }
  const listening =
    own && (await listeningOn(own, app.server.listen({ host: own.host, port: own.port })))
  stopOnSignal(undo.move(), log)
  if (listening === undefined) return void log.info({}, 'doing background work')
  // At once: whoever waits for the address has read all of it.
  process.stdout.write(`${announce(listening)}\n${app.hold.since() === null ? '' : HELD}`)
  log.info({ address: listening }, 'listening')
}

/**
 * Waits for the end of a restore that is under way, before the migrations, which would change its tables.
 * @returns false where the process was asked to stop meanwhile
 */
async function restoreIsOver(
  address: DatabaseAddress,
  config: Config,
  log: Logger,
): Promise<boolean> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  // By handlers: as the first process of a container it would not be ended without.
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
  try {
    return await explained(
      config,
      untilOpen(address, { log, clock: systemTime, signal: stopping.signal }),
    )
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop)
  }
}

export const migrateOrExplain = (
  address: DatabaseAddress,
  config: Config,
  log: Logger,
): Promise<number> => explained(config, migrate(address, log))

/** @throws StartupError where the schema is not that of this release */
export const requireSchema = (address: DatabaseAddress, config: Config): Promise<void> =>
  explained(config, requireMigrated(address))

/** Says what is wrong with DATABASE_URL when nothing can be done there. */
async function explained<T>(config: Config, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    // A fault of our own code keeps its stack; what the driver or the server says is a sentence.
    const isOurs = error instanceof StartupError || error instanceof TypeError
    if (!config.DATABASE_URL || isOurs) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new StartupError(
      `DATABASE_URL: the database refuses (${(error as Error).message || code}); check that it runs and that the user may create tables and roles.`,
    )
  }
}

/** Where an address cannot be listened on, whoever has it: no such one, not ours, or no name of one. */
const UNUSABLE = ['EACCES', 'EADDRNOTAVAIL', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN']

/** An address to listen on, with the variables that it is of. */
interface At {
  host: string
  port: number
  names: readonly [host: string, port: string]
}

const serviceAt = ({ HOST, PORT }: Config): At => ({
  host: HOST,
  port: PORT,
  names: ['HOST', 'PORT'],
})

const metricsAt = ({ METRICS_HOST, METRICS_PORT }: Config): At | undefined =>
  METRICS_PORT === undefined
    ? undefined
    : { host: METRICS_HOST, port: METRICS_PORT, names: ['METRICS_HOST', 'METRICS_PORT'] }

/** Listens on all at once, as they may be the same, and ends that again. */
async function requireFree(addresses: readonly At[]): Promise<void> {
  await using held = new AsyncDisposableStack()
  for (const at of addresses) {
    const server = createServer()
    await listeningOn(at, once(server.listen(at.port, at.host), 'listening'))
    held.defer(promisify(server.close.bind(server)))
  }
}

/** @throws StartupError that names the variables where the address is taken or none to listen on */
async function listeningOn<T>({ host, port, names }: At, listening: Promise<T>): Promise<T> {
  const [HOST, PORT] = names
  try {
    return await listening
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new StartupError(
        `${PORT}: ${port} is taken on ${host}; choose another or stop what listens there.`,
      )
    if (UNUSABLE.includes(code))
      throw new StartupError(`${HOST}, ${PORT}: cannot listen on ${host}:${port} (${code}).`)
    throw error
  }
}

/** Where people of this machine reach the service; a zone is no part of a URL. */
function localUrl({ HOST, PORT }: Config): string {
  const host = HOST.replace(/%.*$/, '')
  return `http://${host.includes(':') ? `[${host}]` : host}:${PORT}`
}

function stopOnSignal(undo: AsyncDisposableStack, log: Logger): void {
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    if (!(await within(systemTime, CUT_OFF_MS, undo.disposeAsync()))) {
      log.error({}, 'the stop took too long; what still ran is cut off')
      process.exit(1)
    }
    log.info({}, 'stopped')
    process.exit(0)
  }
  for (const signal of STOP_SIGNALS) process.on(signal, () => void stop(signal))
}
