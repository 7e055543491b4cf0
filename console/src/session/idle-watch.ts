/** Watches for activity and signs the user out after too long a time without activity. */
import { heartbeatMs, idlePhase, latestActivity } from './idle.ts'

const EVENTS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'scroll', 'touchstart'] as const
const THROTTLE_MS = 1000
const STORED = 'last-activity'

export interface IdleWatchDeps {
  /** Called once when the time limit has passed. */
  onOver: () => void
  /** Called while the user is active, to report the activity to the service. */
  onHeartbeat: () => void
}

export interface IdleWatch {
  /** Starts the watch, or continues with a new limit. Starting counts as activity. */
  start(limitMs: number): void
  stop(): void
  /** Records activity. Also works while the warning is shown. */
  stay(): void
  /** Returns the seconds until the sign-out. Undefined unless the warning is shown. */
  secondsLeft(): number | undefined
  subscribe(listener: () => void): () => void
}

/** Creates the watch. It registers no listeners before it is started. */
export function createIdleWatch({ onOver, onHeartbeat }: IdleWatchDeps): IdleWatch {
  const listeners = new Set<() => void>()
  let limitMs = 0
  let noted = 0
  let left: number | undefined
  let checkTimer: ReturnType<typeof setTimeout> | undefined
  let heartbeat: ReturnType<typeof setTimeout> | undefined

  function show(seconds: number | undefined): void {
    if (left === seconds) return
    left = seconds
    for (const listener of listeners) listener()
  }

  function check(): void {
    clearTimeout(checkTimer)
    const idle = idlePhase(Date.now(), readActivity(noted), limitMs)
    if (idle.phase === 'over') {
      stop()
      onOver()
      return
    }
    show(idle.phase === 'warning' ? idle.secondsLeft : undefined)
    checkTimer = setTimeout(check, idle.phase === 'warning' ? 1000 : idle.checkInMs)
  }

  function record(): void {
    noted = Date.now()
    writeActivity(noted)
    heartbeat ??= setTimeout(() => {
      heartbeat = undefined
      onHeartbeat()
    }, heartbeatMs(limitMs))
  }

  function noteActivity(): void {
    if (left !== undefined || Math.abs(Date.now() - noted) < THROTTLE_MS) return
    // Checks the limit first. Otherwise the first mouse movement after the computer has slept would extend the session.
    check()
    if (limitMs > 0 && left === undefined) record()
  }

  function stop(): void {
    limitMs = 0
    clearTimeout(checkTimer)
    clearTimeout(heartbeat)
    heartbeat = undefined
    for (const event of EVENTS) removeEventListener(event, noteActivity, { capture: true })
    document.removeEventListener('visibilitychange', check)
    removeEventListener('focus', check)
    removeEventListener('pageshow', check)
    show(undefined)
  }

  return {
    start(limit) {
      if (limitMs === limit) return
      stop()
      limitMs = limit
      for (const event of EVENTS)
        addEventListener(event, noteActivity, { capture: true, passive: true })
      document.addEventListener('visibilitychange', check)
      addEventListener('focus', check)
      addEventListener('pageshow', check)
      record()
      check()
    },
    stop,
    stay() {
      if (limitMs === 0) return
      record()
      onHeartbeat()
      check()
    },
    secondsLeft: () => left,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/**
 * Returns the time of the latest activity in any tab. Reads storage instead of the channel, because a tab that was
 * suspended has missed the messages and would end the session of all tabs.
 */
function readActivity(own: number): number {
  try {
    return latestActivity(own, Number(localStorage.getItem(STORED)) || 0, Date.now())
  } catch {
    return own
  }
}

function writeActivity(at: number): void {
  try {
    localStorage.setItem(STORED, String(at))
  } catch {
    // Without storage, each tab considers only its own activity.
  }
}
