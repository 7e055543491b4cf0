/**
 * Background work: enqueued on the transaction that causes it, done by any process that works,
 * tried again until it succeeds or is given up, and never by two at once.
 */
import { randomUUID } from 'node:crypto'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import type { DatabaseAddress, TenantTx } from '../db/index.ts'
import type { Fix } from '../fix.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import { openBoss, statementsOn } from './boss.ts'
import { jobFixes } from './fixes.ts'
import { type JobKind, limitsOf } from './kind.ts'
import { type Handler, startWorker, type Work, type Worker } from './worker.ts'

export interface SendOptions {
  startAfterSeconds?: number
  /** While a job with this key waits for its first attempt, another one is not added. */
  singletonKey?: string
  /** The job's id, for a sender who needs to know it before; otherwise one is made. */
  id?: string
}

export interface Jobs {
  /** Enqueues on the caller's transaction: it commits with its cause or not at all. */
  send<T extends object>(
    tx: TenantTx,
    kind: JobKind<T>,
    data: T,
    options?: SendOptions,
  ): Promise<void>
  /**
   * Says who does the work. Every process calls it, before `start`, as it also makes the kind known
   * for sending; the handler runs only where jobs are worked off.
   */
  work<T extends object>(
    kind: JobKind<T>,
    handler: Handler<T>,
    options?: Partial<Pick<Work<T>, 'concurrency' | 'pollSeconds' | 'when'>>,
  ): void
  /**
   * A cron schedule (UTC), kept once for all nodes. When nobody ran at the time, it is caught up
   * on once. The kind needs a `work` as well. Without a cron one that was kept ends.
   */
  schedule(kind: JobKind<Record<string, never>>, cron: string | undefined): void
  start(): Promise<void>
  /** Resolves when this process has done all jobs that are due, those included that others have caused. */
  idle(): Promise<void>
  /**
   * Takes no more: what runs is waited for, for 6 s at the most, and what does not finish is given
   * back. Sending goes on.
   */
  stop(): Promise<void>
  /** Stops, and lets go of the connections. */
  close(): Promise<void>
  /** The faults of jobs, of whichever kind. */
  readonly fixes: readonly Fix[]
}

export interface JobsOptions {
  address: DatabaseAddress
  clock: Time
  log: Logger
  /** Whether this process works jobs off; otherwise it only enqueues. */
  works: boolean
  /** How often leases and schedules are looked at. 30 unless a test cannot wait. */
  maintenanceSeconds?: number
  /** Whether nothing is begun for now, as a restore has closed the service. */
  rests?: () => boolean
}

const FINISH_MS = 6_000
/** For pg-boss' own work, and again for the pool. */
const LET_GO_MS = 900

export function openJobs(options: JobsOptions): Jobs {
  const { address, clock, log, works, maintenanceSeconds = 30, rests = () => false } = options
  const boss = openBoss(address, { log, works, maintenanceSeconds })
  const registered = new Map<string, Work<object>>()
  const schedules = new Map<string, string | undefined>()
  const workers = new Map<string, Worker>()
  let isStarted = false
  let stopping: Promise<unknown> | undefined
  let closing: Promise<void> | undefined

  /** Makes the queues of this release's kinds, and brings their limits up to date. */
  async function ensureQueues(): Promise<void> {
    const names = [...registered.keys()]
    if (names.length === 0) return
    const known = new Map((await boss.jobs.getQueues(names)).map((queue) => [queue.name, queue]))
    for (const { kind } of registered.values()) {
      const limits = limitsOf(kind)
      const queue = known.get(kind.name) as Record<string, unknown> | undefined
      // 'short': at most one job waits under one key. Jobs without a key are given one of their own.
      if (!queue) await boss.jobs.createQueue(kind.name, { ...limits, policy: 'short' })
      else if (Object.entries(limits).some(([name, value]) => queue[name] !== value))
        await boss.jobs.updateQueue(kind.name, limits)
    }
  }

  async function stop(): Promise<void> {
    stopping ??= Promise.all([...workers.values()].map((worker) => worker.stop(FINISH_MS)))
    await stopping
  }

  async function close(): Promise<void> {
    await stop()
    const own = boss.jobs.stop({ graceful: false, close: false })
    await within(clock, LET_GO_MS, canFail(own, 'stopping the upkeep of jobs', log))
    await within(clock, LET_GO_MS, canFail(boss.close(), 'closing the connections of jobs', log))
  }

  return {
    async send(tx, kind, data, options = {}) {
      if (!registered.has(kind.name)) throw new Error(`nobody has said who does ${kind.name}`)
      const { startAfterSeconds, singletonKey, id = randomUUID() } = options
      await boss.jobs.send(kind.name, data, {
        ...limitsOf(kind),
        id,
        singletonKey: singletonKey ?? id,
        ...(startAfterSeconds === undefined ? {} : { startAfter: startAfterSeconds }),
        db: statementsOn(tx),
      })
      if (!startAfterSeconds) tx.afterCommit(() => workers.get(kind.name)?.wake())
    },

    work(kind, handler, { concurrency = 1, pollSeconds = 5, when = atOnce } = {}) {
      if (isStarted) throw new Error(`${kind.name} must be registered before the start`)
      if (registered.has(kind.name)) throw new Error(`${kind.name} is registered twice`)
      registered.set(kind.name, {
        kind,
        handler: handler as Handler<object>,
        concurrency,
        pollSeconds,
        when,
        rests,
      })
    },

    schedule(kind, cron) {
      schedules.set(kind.name, cron)
    },

    async start() {
      isStarted = true
      if (works) await boss.jobs.start()
      await ensureQueues()
      if (!works) return
      for (const [name, cron] of schedules)
        if (cron === undefined) await boss.jobs.unschedule(name)
        else await boss.jobs.schedule(name, cron, {}, { tz: 'UTC', missed: 'once' })
      for (const work of registered.values())
        work.when(() => {
          if (!stopping) workers.set(work.kind.name, startWorker(boss, work, { log, clock }))
        })
    },

    async idle() {
      const round = async () => {
        const counts = await Promise.all([...workers.values()].map((worker) => worker.idle()))
        return counts.reduce((sum, count) => sum + count, 0)
      }
      // A job of one kind may have caused one of a kind that was found empty before.
      let [before, now] = [0, await round()]
      do [before, now] = [now, await round()]
      while (now > before)
    },

    stop,

    close() {
      closing ??= close()
      return closing
    },

    fixes: jobFixes(boss, () => [...registered.values()].map(({ kind }) => kind)),
  }
}

const atOnce = (begin: () => void) => begin()
