/**
 * Runs one kind of job: claims due jobs, runs them, records results, and releases unfinished jobs when it stops.
 * Attempt numbers keep a worker whose lease has expired from recording a result.
 */
import type { JobWithMetadata } from 'pg-boss'
import { SECOND } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import { isDatabaseFailure, isResting } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { Boss } from './boss.ts'
import type { JobKind } from './kind.ts'

export interface JobContext {
  /** Aborts when the process stops or the lease ends. */
  signal: AbortSignal
  /** The job's id, which is the same for every attempt. */
  id: string
  /** The number of the attempt, starting at 1. */
  attempt: number
}

export type Handler<T extends object> = (data: T, context: JobContext) => Promise<void>

export interface Work<T extends object> {
  kind: JobKind<T>
  handler: Handler<T>
  /** The maximum number of concurrent jobs in this process. */
  concurrency: number
  /** Seconds between polls for jobs that other processes enqueued or that became due. */
  pollSeconds: number
  /** Calls `begin` when jobs may start. Until then, enqueued jobs wait. */
  when: (begin: () => void) => void
  /** Returns whether all tenants are in maintenance mode. While true, no jobs start. */
  rests: () => boolean
}

export interface JobWorker {
  wake(): void
  /** Polls until no job is running or due. Returns how many jobs the worker has started so far. */
  idle(): Promise<number>
  /** Stops claiming jobs, waits up to `patience` ms for running jobs, and releases the unfinished jobs. */
  stop(patience: number): Promise<void>
}

/** The delay between attempts to record a result while the database is away. */
const SETTLE_AGAIN_MS = 500
/** The interval at which a worker checks whether maintenance mode has ended. */
const RESTING_SECONDS = 1

interface WorkerDeps {
  log: Logger
  clock: Time
  /** Returns whether this node has lost its database. */
  isAway: () => boolean
}

interface Running {
  job: JobWithMetadata<object>
  abort: AbortController
  done: Promise<void>
  isReleased: boolean
}

export function startJobWorker(
  boss: Boss,
  work: Work<object>,
  { log, clock, isAway }: WorkerDeps,
): JobWorker {
  const { kind, handler, concurrency } = work
  const running = new Map<string, Running>()
  let begun = 0
  let isStopping = false
  let isOver = false
  /** Whether the last poll filled all free slots. More jobs may then be due. */
  let mayHaveMore = false

  const fetches = poller(fetch, {
    clock,
    pollMs: work.pollSeconds * SECOND,
    onError(error) {
      log.warn({ err: error, job: kind.name }, 'fetching of jobs failed')
    },
  })

  /** Starts due jobs while there are free slots. Returns the milliseconds until the next poll. */
  async function fetch(): Promise<number> {
    if (work.rests()) return RESTING_SECONDS * SECOND
    const room = concurrency - running.size
    if (room > 0) {
      mayHaveMore = false
      const options = { batchSize: room, includeMetadata: true } as const
      const jobs = await boss.jobs.fetch<object>(kind.name, options)
      mayHaveMore = jobs.length === room
      for (const job of jobs) begin(job)
    }
    // Varies the interval at random, so that nodes do not poll at the same time.
    return work.pollSeconds * SECOND * (0.8 + 0.4 * Math.random())
  }

  function begin(job: JobWithMetadata<object>): void {
    begun += 1
    const abort = new AbortController()
    const entry: Running = { job, abort, done: Promise.resolve(), isReleased: false }
    running.set(job.id, entry)
    entry.done = run(entry).finally(() => {
      running.delete(job.id)
      if (mayHaveMore) fetches.wake()
    })
  }

  async function run(entry: Running): Promise<void> {
    const { job, abort } = entry
    if (isStopping) return release(entry, 0)
    const endLease = clock.after(job.expireInSeconds * SECOND, () =>
      abort.abort(new Error(`job not completed within ${kind.expireInSeconds} s`)),
    )
    try {
      const context = { signal: abort.signal, id: job.id, attempt: job.retryCount + 1 }
      await Promise.race([handler(job.data, context), endOf(abort.signal, () => !isStopping)])
    } catch (error) {
      if (entry.isReleased) return
      if (isResting(error)) return release(entry, RESTING_SECONDS)
      if (isDatabaseFailure(error) && !isStopping && isFree(entry)) return putOff(entry, error)
      return isStopping && isAbort(error, abort.signal) ? release(entry, 0) : fail(entry, error)
    } finally {
      endLease()
    }
    // A job that ends during a stop still counts as completed, unless another worker has claimed the job.
    await settle(entry, 'deletion of a completed job', () =>
      boss.jobs.deleteJob(kind.name, { id: job.id, retryCount: job.retryCount }),
    )
  }

  async function fail(entry: Running, error: unknown): Promise<void> {
    const { job } = entry
    const attempt = job.retryCount + 1
    // Logs only the reason. A line with the database's error would count as part of an outage.
    const cause = isDatabaseFailure(error) ? { reason: reasonOf(error) } : { err: error }
    const fields = { job: kind.name, id: job.id, attempt, ...cause }
    const isLast = job.retryCount >= job.retryLimit
    if (isLast) log.error(fields, `job ${kind.name} failed for good after ${attempt} attempts`)
    else log.warn(fields, `job ${kind.name} failed and will be retried`)
    // Stores only name and code in the table, because the message of an error may quote data.
    const { name, code } = error as Error & { code?: string }
    await settle(entry, 'recording of a job failure', () =>
      boss.jobs.fail(kind.name, { id: job.id, retryCount: job.retryCount }, { name, code }),
    )
  }

  /**
   * Returns whether a failure does not count as an attempt: while this node has lost its database, and once per job,
   * because a job may notice the loss first. Other database failures count, such as queries that need too much memory.
   */
  const isFree = ({ job }: Running): boolean => isAway() || job.retryLimit <= kind.retries

  /** Releases a job that failed only because the database was unavailable, once the database is available. */
  function putOff(entry: Running, error: unknown): Promise<void> {
    const { id } = entry.job
    if (!isAway())
      log.info({ job: kind.name, id, reason: reasonOf(error) }, `job ${kind.name} postponed`)
    return settle(entry, 'release of a job', () =>
      boss.release(kind.name, entry.job, RESTING_SECONDS),
    )
  }

  /** Releases the job, so that it can be claimed again. The attempt is not counted. */
  async function release(entry: Running, seconds: number): Promise<void> {
    entry.isReleased = true
    await canFail(boss.release(kind.name, entry.job, seconds), `release of job ${kind.name}`, log)
  }

  /** Records a job's result, and retries until it is stored. Otherwise the job would run again after its lease. */
  async function settle(entry: Running, what: string, save: () => Promise<unknown>): Promise<void> {
    while (!isOver && !entry.isReleased) {
      try {
        await save()
        return
      } catch (error) {
        if (!isDatabaseFailure(error))
          return log.error({ err: error, job: kind.name, id: entry.job.id }, `${what} failed`)
        await clock.delay(SETTLE_AGAIN_MS)
      }
    }
  }

  return {
    wake: fetches.wake,
    async idle() {
      do {
        await Promise.all([...running.values()].map(({ done }) => done))
        await fetches.idle()
      } while (running.size > 0)
      return begun
    },
    async stop(patience) {
      isStopping = true
      for (const { abort } of running.values())
        abort.abort(new Error('the process is shutting down'))
      const finished = fetches
        .stop()
        .then(() => Promise.allSettled([...running.values()].map(({ done }) => done)))
      await within(clock, patience, finished)
      await Promise.all([...running.values()].map((entry) => release(entry, 0)))
      isOver = true
    },
  }
}

/** Returns a promise that rejects if `counts` returns true when the signal aborts. Otherwise it never settles. */
function endOf(signal: AbortSignal, counts: () => boolean): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => counts() && reject(signal.reason), { once: true })
  })
}

function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || String(code)
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error as Error)?.name === 'AbortError'
}
