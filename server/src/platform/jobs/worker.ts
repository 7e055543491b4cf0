/**
 * Works off one kind of job: claims what is due, runs it, settles it, and gives back at the stop
 * what has not finished. A claim is fenced by its attempt, so a worker whose lease ran out cannot
 * settle what another has taken over.
 */
import type { JobWithMetadata } from 'pg-boss'
import { SECOND } from '../../lib/clock.ts'
import { poller } from '../../lib/poller.ts'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import { isResting } from '../db/index.ts'
import { canFail } from '../observe/can-fail.ts'
import type { Logger } from '../observe/log.ts'
import type { Boss } from './boss.ts'
import type { JobKind } from './kind.ts'

export interface JobContext {
  /** Aborts when the process stops or the lease ends. */
  signal: AbortSignal
  /** The job's id, the same at every attempt. */
  id: string
  /** 1 at the first. */
  attempt: number
}

export type Handler<T extends object> = (data: T, context: JobContext) => Promise<void>

export interface Work<T extends object> {
  kind: JobKind<T>
  handler: Handler<T>
  /** How many run side by side in this process. */
  concurrency: number
  /** How often to ask for what others have enqueued, or what has come due. */
  pollSeconds: number
  /** Says when the work begins; what is enqueued before waits. */
  when: (begin: () => void) => void
  /** Whether nothing is begun for now, as a restore has closed the service. */
  rests: () => boolean
}

export interface Worker {
  /** There is something to do: asks now. */
  wake(): void
  /** Fetches now. Resolves when no job is running and no due job is left. Returns how many jobs it began so far. */
  idle(): Promise<number>
  /** Takes no more, waits up to `patience` ms for what runs, and releases the rest. */
  stop(patience: number): Promise<void>
}

/** How long to wait before telling the database again what it could not hear. */
const SETTLE_AGAIN_MS = 500
/** Between looks whether a restore is over. */
const RESTING_SECONDS = 1

interface Running {
  job: JobWithMetadata<object>
  abort: AbortController
  done: Promise<void>
  isReleased: boolean
}

export function startWorker(
  boss: Boss,
  work: Work<object>,
  { log, clock }: { log: Logger; clock: Time },
): Worker {
  const { kind, handler, concurrency } = work
  const running = new Map<string, Running>()
  let begun = 0
  let isStopping = false
  let isOver = false
  /** Whether the last look found as much as there was room for, so that there may be more. */
  let mayHaveMore = false

  const fetches = poller(fetch, {
    clock,
    pollMs: work.pollSeconds * SECOND,
    onError(error) {
      if (!boss.isAway(error)) log.warn({ err: error, job: kind.name }, 'asking for jobs failed')
    },
  })

  /** Begins what is due, as far as there is room. Returns the milliseconds until it is asked again. */
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
    // Scattered, so that nodes do not ask all at the same moment.
    return work.pollSeconds * SECOND * (0.8 + 0.4 * Math.random())
  }

  function begin(job: JobWithMetadata<object>): void {
    begun += 1
    const entry: Running = {
      job,
      abort: new AbortController(),
      done: Promise.resolve(),
      isReleased: false,
    }
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
      abort.abort(new Error(`not done within ${kind.expireInSeconds} s`)),
    )
    try {
      const context = { signal: abort.signal, id: job.id, attempt: job.retryCount + 1 }
      await Promise.race([handler(job.data, context), endOf(abort.signal, () => !isStopping)])
    } catch (error) {
      if (entry.isReleased) return
      if (isResting(error)) return release(entry, RESTING_SECONDS)
      return isStopping && isAbort(error, abort.signal) ? release(entry, 0) : fail(entry, error)
    } finally {
      endLease()
    }
    // Done is done even when it took too long to be given back: only the fence can object.
    await settle(entry, 'deleting a job that is done', () =>
      boss.jobs.deleteJob(kind.name, { id: job.id, retryCount: job.retryCount }),
    )
  }

  async function fail(entry: Running, error: unknown): Promise<void> {
    const { job } = entry
    const attempt = job.retryCount + 1
    const fields = { job: kind.name, id: job.id, attempt, err: error }
    const isLast = job.retryCount >= job.retryLimit
    if (isLast) log.error(fields, `gave up job ${kind.name} after ${attempt} attempts`)
    else log.warn(fields, `job ${kind.name} failed and will be tried again`)
    // The log may know what went wrong, the table need not: messages quote what they were about.
    const { name, code } = error as Error & { code?: string }
    await settle(entry, 'noting that a job failed', () =>
      boss.jobs.fail(kind.name, { id: job.id, retryCount: job.retryCount }, { name, code }),
    )
  }

  /** Makes the job claimable again, without counting the attempt. */
  async function release(entry: Running, seconds: number): Promise<void> {
    entry.isReleased = true
    await canFail(boss.release(kind.name, entry.job, seconds), `releasing job ${kind.name}`, log)
  }

  /**
   * Tells the database how a job ended, for as long as it takes: were it forgotten, the work would
   * be done a second time once the lease is over.
   */
  async function settle(entry: Running, what: string, tell: () => Promise<unknown>): Promise<void> {
    while (!isOver && !entry.isReleased) {
      try {
        await tell()
        return
      } catch (error) {
        if (!boss.isAway(error))
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
      for (const { abort } of running.values()) abort.abort(new Error('the process stops'))
      const finished = fetches
        .stop()
        .then(() => Promise.allSettled([...running.values()].map(({ done }) => done)))
      await within(clock, patience, finished)
      await Promise.all([...running.values()].map((entry) => release(entry, 0)))
      isOver = true
    },
  }
}

/** Rejects when the signal aborts while `counts`; otherwise never ends. */
function endOf(signal: AbortSignal, counts: () => boolean): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => counts() && reject(signal.reason), { once: true })
  })
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error as Error)?.name === 'AbortError'
}
