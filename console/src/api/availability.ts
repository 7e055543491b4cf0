/** Tracks whether the service responds. Every page shows one banner while the service does not respond. */
import { useSyncExternalStore } from 'react'

/** Hides the banner when no request has failed for this long, even if none has succeeded since. */
const FORGET_AFTER_MS = 40_000

/** For this long after a restore was seen, the sign-in page mentions it as a possible cause of an ended session. */
const RESTORE_RECENT_MS = 10 * 60_000

let away: 'silent' | 'restoring' | undefined
let restoringAt: number | undefined
let forgetting: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

/** Records the status of a response. */
export function noteAnswer(status: number, retryAfter = 0, code?: string): void {
  if (code === 'restoring') noteRestore()
  if (status === 502 || status === 503 || status === 504)
    setAway(retryAfter, code === 'restoring' ? 'restoring' : 'silent')
  else if (away) clearAway()
}

/** Records that a restore is running. */
export function noteRestore(): void {
  restoringAt = Date.now()
}

/** True if this tab saw a moment ago that a restore was running, by a job or because the service refused a request. */
export const sawRestore = (now = Date.now()): boolean =>
  restoringAt !== undefined && now - restoringAt < RESTORE_RECENT_MS

/** Records that no response arrived. */
export function noteSilence(): void {
  setAway(0, 'silent')
}

/** Returns true while the service does not respond. */
export function useServiceAway(): boolean {
  return useAway() !== undefined
}

/** Returns why the service does not answer requests, or undefined while it does. */
export function useAway(): typeof away {
  return useSyncExternalStore(subscribe, () => away)
}

function setAway(retryAfter: number, why: NonNullable<typeof away>): void {
  clearTimeout(forgetting)
  forgetting = setTimeout(clearAway, FORGET_AFTER_MS + retryAfter * 1000)
  if (away === why) return
  away = why
  publish()
}

function clearAway(): void {
  clearTimeout(forgetting)
  away = undefined
  publish()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function publish(): void {
  for (const listener of listeners) listener()
}
