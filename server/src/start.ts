/** The start command: database, migrations, service, and a stop that loses nothing. */
import { resolve } from 'node:path'
import { type Config, readConfig } from './config.ts'
import { StartupFault } from './lib/faults.ts'
import { ownKey, readKeyFile } from './platform/crypto/index.ts'
import type { DatabaseAddress } from './platform/db/index.ts'
import { migrate } from './platform/db/migrate.ts'
import { type Logger, openLog } from './platform/observe/log.ts'

/** Requests still running after this are cut off, so that the whole stop stays within 10 s. */
const STOP_MS = 8_000

/** The database that the configuration names, started if it is the embedded one. */
export async function openDatabase(
  config: Config,
  log: Logger,
): Promise<{ address: DatabaseAddress; stop(): Promise<void> }> {
  if (config.DATABASE_URL)
    return { address: { url: config.DATABASE_URL }, stop: async () => undefined }
  const { startEmbedded } = await import('./platform/db/embedded/index.ts')
  const embedded = await startEmbedded({ dataDir: resolve(config.DATA_DIR), log })
  return { address: embedded.connection, stop: embedded.stop }
}

/** The root key of sealed data (decisions §8). */
export async function rootKeyOf(config: Config, log: Logger): Promise<Uint8Array> {
  if (config.ENCRYPTION_KEY) return config.ENCRYPTION_KEY
  if (config.ENCRYPTION_KEY_FILE) return readKeyFile(config.ENCRYPTION_KEY_FILE)
  return ownKey(resolve(config.DATA_DIR), log)
}

/** Starts the service and keeps it up until a signal stops it. */
export async function start(role: string): Promise<void> {
  if (role !== 'api' && role !== 'worker' && role !== 'all')
    throw new StartupFault('--role: must be api, worker or all.')
  const config = readConfig()
  const log = openLog(config.LOG_LEVEL)
  // The application's modules load while the database starts.
  const loading = import('./app.ts')
  const database = await openDatabase(config, log)
  const undo: (() => Promise<unknown>)[] = [database.stop]
  try {
    const rootKey = await rootKeyOf(config, log)
    await migrateOrExplain(database.address, config, log)
    const { openApp } = await loading
    const local = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${config.PORT}`
    const publicUrl = config.PUBLIC_URL ?? local
    const { address } = database
    const app = await openApp({ config, address, publicUrl, rootKey, log, role })
    undo.unshift(app.close)
    const announce = await app.setUp()
    if (config.METRICS_PORT !== undefined) {
      const metrics = await app.metrics.serve(config.HOST, config.METRICS_PORT)
      undo.unshift(async () => metrics.close())
    }
    stopOnSignal(undo, log)
    if (role === 'worker') return void log.info({}, 'doing background work')
    const listening = await app.server.listen({ host: config.HOST, port: config.PORT })
    process.stdout.write(`${announce(listening)}\n`)
    log.info({ address: listening }, 'listening')
  } catch (error) {
    for (const step of undo) await step()
    throw listenFault(error, config)
  }
}

/** Migrates, and says what is wrong with DATABASE_URL when nothing can be done there. */
export async function migrateOrExplain(
  address: DatabaseAddress,
  config: Config,
  log: Logger,
): Promise<number> {
  try {
    return await migrate(address, log)
  } catch (error) {
    // A fault of our own code keeps its stack; what the driver or the server says is a sentence.
    const isOurs = error instanceof StartupFault || error instanceof TypeError
    if (!config.DATABASE_URL || isOurs) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new StartupFault(
      `DATABASE_URL: the database refuses (${(error as Error).message || code}); check that it runs and that the user may create tables and roles.`,
    )
  }
}

function listenFault(error: unknown, config: Config): unknown {
  const { code, port } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE')
    return new StartupFault(
      `${port === config.METRICS_PORT ? 'METRICS_PORT' : 'PORT'}: ${port} is taken on ${config.HOST}; choose another or stop what listens there.`,
    )
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL')
    return new StartupFault(`HOST, PORT: cannot listen on ${config.HOST}:${config.PORT} (${code}).`)
  return error
}

function stopOnSignal(undo: (() => Promise<unknown>)[], log: Logger): void {
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    const deadline = setTimeout(() => {
      log.error({}, 'the stop took too long; what still ran is cut off')
      process.exit(1)
    }, STOP_MS + 1_500)
    deadline.unref()
    for (const step of undo) await withLimit(step(), STOP_MS)
    log.info({}, 'stopped')
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
}

async function withLimit(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([
    work,
    new Promise((done) => {
      timer = setTimeout(done, ms)
    }),
  ])
  clearTimeout(timer)
}
