/** The start command: starts the database, the migrations and the service, and shuts down without losing work. */
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
import { requireSessionPooling } from '../platform/db/pooling.ts'
import { untilAvailable } from '../platform/db/until-available.ts'
import { untilWritable } from '../platform/db/until-writable.ts'
import { canFail } from '../platform/observe/can-fail.ts'
import { type Logger, openLog } from '../platform/observe/log.ts'
import { migrate, requireMigrated, requireSchemaThere } from '../platform/schema/migrate.ts'

/** The time after which running work is aborted, so that the whole shutdown takes less than 10 s. */
const STOP_MS = 8_000
const CUT_OFF_MS = 9_500
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** The number of connections that a process uses outside the request pool, with a reserve for operators. */
const BESIDE_POOL = 36

const PAUSED = `This is a restored copy, so it does not send mails, webhooks or messages. To send them, run
\`wardkeep outbound release\`.
`

/** Opens the configured database. @param joins true to use an embedded database that another process runs */
export async function openDatabase(
  config: Config,
  log: Logger,
  joins = false,
): Promise<{ address: DatabaseAddress; stop(): Promise<void> }> {
  if (config.DATABASE_URL) {
    const address = { url: config.DATABASE_URL }
    await explained(config, requireSessionPooling(address))
    return { address, stop: async () => undefined }
  }
  const { joinEmbedded, startEmbedded } = await import('../platform/embedded/index.ts')
  const open = joins ? joinEmbedded : startEmbedded
  const settings = {
    max_connections: String(Math.max(60, config.DATABASE_POOL_SIZE + BESIDE_POOL)),
  }
  const embedded = await open({ dataDir: resolve(config.DATA_DIR), log, settings })
  return { address: embedded.connection, stop: embedded.stop }
}

/** Opens an existing database and creates nothing. @throws StartupError if it does not exist */
export async function openExistingDatabase(
  config: Config,
  log: Logger,
  joins = false,
): ReturnType<typeof openDatabase> {
  if (!config.DATABASE_URL) {
    const { hasCluster } = await import('../platform/embedded/index.ts')
    const dataDir = resolve(config.DATA_DIR)
    if (!(await hasCluster(dataDir)))
      throw new StartupError(
        `DATA_DIR: ${dataDir} does not contain a database. Set the same DATA_DIR or DATABASE_URL as for the service.`,
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

export async function start(role: string): Promise<void> {
  if (role !== 'api' && role !== 'worker' && role !== 'all')
    throw new StartupError('Invalid value of --role. Pass api, worker or all.')
  const config = readConfig()
  const log = openLog(config.LOG_LEVEL)
  for (const warning of misspeltVariables()) log.warn(warning)
  // Ignores errors, because a failed write to stdout must not stop the service. The same applies to the log.
  process.stdout.on('error', () => undefined)
  const { DATA_DIR, ENCRYPTION_KEY_FILE, ENCRYPTION_KEY_NEXT_FILE } = config
  const isProduction = config.NODE_ENV === 'production'
  const secrets = { DATA_DIR, ENCRYPTION_KEY_FILE, ENCRYPTION_KEY_NEXT_FILE }
  await refuseLooseModes(secrets, isProduction, log)
  // Checks the addresses first, before a database is created and the password of a first start is shown.
  const own = role === 'worker' ? undefined : serviceAt(config)
  const ofMetrics = metricsAt(config)
  await requireFree([own, ofMetrics].filter((at) => at !== undefined))
  const loading = import('../app.ts')
  await using undo = new AsyncDisposableStack()
  const onStop = (what: string, stop: () => Promise<unknown>) =>
    undo.defer(
      async () =>
        void (await within(systemTime, STOP_MS, canFail(stop(), `shutdown of ${what}`, log))),
    )
  if (!(await databaseIsThere(config, log))) return
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
  if (listening === undefined) return void log.info({}, 'background work started')
  // Writes all lines in one call. A program that waits for the address may stop reading after it has found the address.
  process.stdout.write(`${announce(listening)}\n${app.hold.since() === null ? '' : PAUSED}`)
  log.info({ address: listening }, 'listening')
}

/** Waits for the server at DATABASE_URL. @returns false if a signal stops the process first */
async function databaseIsThere(config: Config, log: Logger): Promise<boolean> {
  const { DATABASE_URL: url, DATABASE_WAIT_SECONDS: seconds } = config
  if (url === undefined || seconds === 0) return true
  const waitMs = seconds * 1000
  return explained(
    config,
    unlessStopped((signal) => untilWritable({ url }, { log, clock: systemTime, waitMs, signal })),
  )
}

/**
 * Waits for a restore, during which migrations must not change tables. @returns false if a signal stops the process
 * first
 */
const restoreIsOver = (address: DatabaseAddress, config: Config, log: Logger): Promise<boolean> =>
  explained(
    config,
    unlessStopped((signal) => untilAvailable(address, { log, clock: systemTime, signal })),
  )

/** Runs `work`, which waits for the database. A signal ends the wait. */
async function unlessStopped(work: (signal: AbortSignal) => Promise<boolean>): Promise<boolean> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  // Installs handlers. Without them, signals do not end the first process of a container.
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
  try {
    return await work(stopping.signal)
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, stop)
  }
}

export const migrateOrExplain = (
  address: DatabaseAddress,
  config: Config,
  log: Logger,
): Promise<number> => explained(config, migrate(address, log))

/** @throws StartupError if the schema does not match this release */
export const requireSchema = (address: DatabaseAddress, config: Config): Promise<void> =>
  explained(config, requireMigrated(address))

/** Runs `work`. Turns errors of the database at DATABASE_URL into messages for the operator. */
async function explained<T>(config: Config, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    // Errors in our own code keep their stack. Errors of the driver or the server become a message.
    const isOurs = error instanceof StartupError || error instanceof TypeError
    if (!config.DATABASE_URL || isOurs) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new StartupError(
      `DATABASE_URL: the database rejects the connection or a statement (${(error as Error).message || code}). Check that it is running and that the user may create tables and roles.`,
    )
  }
}

/** Error codes for an unusable address: unknown, on another machine, or with a name that does not resolve. */
const UNUSABLE = ['EACCES', 'EADDRNOTAVAIL', 'EINVAL', 'ENOTFOUND', 'EAI_AGAIN']

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

/** Checks all addresses at the same time, because two of them may be equal. @throws Error if an address is not free */
async function requireFree(addresses: readonly At[]): Promise<void> {
  await using listeners = new AsyncDisposableStack()
  for (const at of addresses) {
    const server = createServer()
    await listeningOn(at, once(server.listen(at.port, at.host), 'listening'))
    listeners.defer(promisify(server.close.bind(server)))
  }
}

/** @throws StartupError with the names of the variables if the address is in use or cannot be used */
async function listeningOn<T>({ host, port, names }: At, listening: Promise<T>): Promise<T> {
  const [HOST, PORT] = names
  try {
    return await listening
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new StartupError(
        `${PORT}: port ${port} is already in use on ${host}. Choose another port, or stop the program that uses it.`,
      )
    if (UNUSABLE.includes(code))
      throw new StartupError(`${HOST}, ${PORT}: cannot listen on ${host}:${port} (${code}).`)
    throw error
  }
}

/** Returns the URL at which this machine reaches the service, without an IPv6 zone (not allowed in URLs). */
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
      log.error({}, 'shutdown timed out; remaining work aborted')
      process.exit(1)
    }
    log.info({}, 'stopped')
    process.exit(0)
  }
  for (const signal of STOP_SIGNALS) process.on(signal, () => void stop(signal))
}
