/** Starts the server, waits until it responds, restarts it when it dies, and stops it. */
import { execFile } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { StartupError } from '../../lib/startup-error.ts'
import type { Binaries } from './binaries.ts'
import type { Endpoint } from './endpoint.ts'
import type { DataFolder } from './folder.ts'
import { settleLeftover } from './leftover.ts'
import { type EmbeddedLog, readServerLog, rotateServerLog, sizeOf } from './log.ts'
import { isReady } from './ready.ts'
import { asStartupError, lastComplaint, startupErrorIn } from './reasons.ts'
import { SETTINGS } from './settings.ts'
import { type ServerExit, type Supervised, supervise } from './supervise.ts'

interface ServerContext {
  readonly folder: DataFolder
  readonly binaries: Binaries
  readonly endpoint: Endpoint
  readonly log: EmbeddedLog
  readonly settings: Readonly<Record<string, string>>
}

/** The error of a failed start. `busy` is true while processes of a dead server still use the cluster. */
interface Failure {
  readonly error: unknown
  readonly busy: boolean
}

const POLL = 10
const SAY_SO_EVERY = 5000
const BUSY_PATIENCE = 30_000
const MAX_PAUSE_MS = 5000
const SETTLED_AFTER = 10_000

/** Starts the server, and restarts it until `stop`. Resolves when it responds. @throws if it does not start */
export async function runServer(context: ServerContext): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  const begun = Date.now()
  const first = await launchUntil(context, stopping.signal, 0, ({ error, busy }) => {
    if (!busy || Date.now() - begun > BUSY_PATIENCE) throw error
  })
  const tending = tend(context, first, stopping.signal)
  return {
    async stop() {
      stopping.abort()
      await tending
    },
  }
}

/** Restarts the server whenever it ends, until the signal aborts. */
async function tend(
  context: ServerContext,
  first: Supervised | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { log, folder } = context
  let running = first
  let deaths = 0
  while (running) {
    const since = Date.now()
    const { how } = await running.ended
    if (signal.aborted) return
    log.error({ how }, 'PostgreSQL ended unexpectedly; restarting it')
    deaths = Date.now() - since > SETTLED_AFTER ? 0 : deaths + 1
    running = await launchUntil(context, signal, deaths, ({ error }) => {
      const reason = asStartupError(error, folder.path)
      log.error(
        { reason: reason instanceof Error ? reason.message : String(reason) },
        'PostgreSQL restart failed; retrying',
      )
    })
    if (running) log.info({}, 'PostgreSQL restarted')
  }
}

/** Starts the server with increasing pauses. Returns undefined if the signal aborts. @throws errors of `onFailure` */
async function launchUntil(
  context: ServerContext,
  signal: AbortSignal,
  failures: number,
  onFailure: (failure: Failure) => void,
): Promise<Supervised | undefined> {
  for (let attempt = failures; !signal.aborted; attempt++) {
    if (attempt > 0)
      await delay(Math.min(25 * 2 ** attempt, MAX_PAUSE_MS), undefined, { signal }).catch(
        () => undefined,
      )
    if (signal.aborted) return undefined
    const outcome = await launch(context, signal).catch(
      (error: unknown): Failure => ({ error, busy: false }),
    )
    if (!('error' in outcome)) return outcome
    if (!signal.aborted) onFailure(outcome)
  }
  return undefined
}

async function launch(context: ServerContext, signal: AbortSignal): Promise<Supervised | Failure> {
  const { folder, endpoint, binaries, log } = context
  await settleLeftover({ folder, binaries, log, signal })
  await endpoint.clear()
  await rotateServerLog(folder.serverLog)
  const since = await sizeOf(folder.serverLog)
  const server = spawnServer(context)
  const halt = () => halted(server, context)
  signal.addEventListener('abort', halt, { once: true })
  if (signal.aborted) halt()
  const ending = await untilReady(server, context).catch(async (error: unknown) => {
    halt()
    await server.ended
    throw error
  })
  const forget = () => signal.removeEventListener('abort', halt)
  void server.ended.then(forget)
  if (!ending) return server
  const output = await readServerLog(folder.serverLog, since)
  const reason = `PostgreSQL did not start (${ending.how}): ${lastComplaint(output)}. Its log is ${folder.serverLog}.`
  return {
    error: startupErrorIn(output, folder.path) ?? new StartupError(reason),
    busy: output.includes('pre-existing shared memory block'),
  }
}

function spawnServer({ folder, binaries, endpoint, settings }: ServerContext): Supervised {
  const all = Object.entries({ ...SETTINGS, ...settings, ...endpoint.settings })
  const output = openSync(folder.serverLog, 'a', 0o600)
  try {
    return supervise(
      [
        binaries.postgres,
        '-D',
        folder.pgdata,
        ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      {
        account: folder.account,
        output,
      },
    )
  } finally {
    closeSync(output)
  }
}

/** Waits for the server. Returns undefined when the server responds. Returns its exit status if it ends before that. */
async function untilReady(
  server: Supervised,
  { endpoint, log }: ServerContext,
): Promise<ServerExit | undefined> {
  const life: { ending?: ServerExit } = {}
  void server.ended.then((ending) => {
    life.ending = ending
  })
  let said = Date.now()
  while (!life.ending) {
    if (await isReady(endpoint)) return undefined
    await delay(POLL)
    if (Date.now() - said < SAY_SO_EVERY) continue
    said = Date.now()
    log.info({}, 'PostgreSQL is still starting; after a crash it first replays its write-ahead log')
  }
  return life.ending
}

function halted(server: Supervised, { binaries, folder }: ServerContext): void {
  // On Windows there is no supervisor shell, so PostgreSQL's own program stops the server.
  if (process.platform === 'win32')
    execFile(binaries.pgCtl, ['stop', '-D', folder.pgdata, '-m', 'fast'], () => undefined)
  else server.stop()
}
