/** Sends the same request for several users, one after the other. */
import { ApiError, retryDelayOf } from '../../api/problem.ts'
import type { User } from './data.ts'

/** A user for whom the request was refused, and the error. */
export interface RefusedUser {
  readonly user: User
  readonly error: unknown
}

/** The state of the work so far. */
export interface BulkProgress {
  readonly done: readonly User[]
  readonly refused: readonly RefusedUser[]
  /** The seconds until the next attempt, while the service is unavailable or limits requests. */
  readonly waitSeconds?: number
}

interface BulkWork {
  readonly users: readonly User[]
  readonly request: (id: number) => Promise<unknown>
  readonly onProgress: (progress: BulkProgress) => void
  /** Stops the work after the current request. If the work is waiting, it stops at once. */
  readonly signal: AbortSignal
}

/** Sends the request for each user. Waits while the service limits requests, and records other refusals. */
export async function oneByOne(work: BulkWork): Promise<BulkProgress> {
  const { users, onProgress } = work
  let progress: BulkProgress = { done: [], refused: [] }
  for (const user of users) {
    const onWait = (waitSeconds: number) => onProgress({ ...progress, waitSeconds })
    const outcome = await settle(work, user.id, onWait)
    if (outcome === 'stopped') break
    progress =
      outcome === 'done'
        ? { ...progress, done: [...progress.done, user] }
        : { ...progress, refused: [...progress.refused, { user, error: outcome.error }] }
    onProgress(progress)
  }
  return progress
}

type Outcome = 'done' | 'stopped' | { readonly error: unknown }

async function settle(
  { request, signal }: BulkWork,
  id: number,
  onWait: (seconds: number) => void,
): Promise<Outcome> {
  while (!signal.aborted) {
    try {
      await request(id)
      return 'done'
    } catch (error) {
      const isLimited = error instanceof ApiError && (error.status === 429 || error.isUnavailable)
      if (!isLimited) return { error }
      await countDown(retryDelayOf(error), signal, onWait)
    }
  }
  return 'stopped'
}

/** Waits for some seconds and reports the remaining ones. The signal ends the wait early. */
async function countDown(
  seconds: number,
  signal: AbortSignal,
  onWait: (seconds: number) => void,
): Promise<void> {
  for (let left = seconds; left > 0 && !signal.aborted; left -= 1) {
    onWait(left)
    await pause(1000, signal)
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}
