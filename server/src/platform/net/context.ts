/** One exchange under way: what may end it early, and what it waits for meanwhile. */
import { DialError } from './dial-error.ts'

export interface ExchangeContext {
  /** Why it has ended early: the deadline, the caller or the close of all. */
  readonly fault: DialError | undefined
  /** Aborted with that fault. Made when asked for: on a kept connection nobody does. */
  readonly signal: AbortSignal
  /** Told of that fault as well: by who has the exchange at the moment, and for less than a signal. */
  onAbort: (() => void) | undefined
  /** What is missing at the moment, as in "no answer"; the deadline's fault says it. */
  missing: string
  /** The address that is being talked to, as soon as there is one. */
  address: string | null
}

export interface StartedExchange extends ExchangeContext {
  /** Ends it early. */
  stop(fault: DialError): void
  /** It is done: no deadline any more. */
  finish(): void
}

const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Who is to be told when the signal aborts. A signal goes through its listeners one by one for each
 * that is added or taken away, and one for all that a process sends has hundreds: it gets one here.
 */
function audienceOf(signal: AbortSignal): Set<() => void> {
  const known = waiting.get(signal)
  if (known) return known
  const audience = new Set<() => void>()
  waiting.set(signal, audience)
  signal.addEventListener('abort', () => audience.forEach((tell) => void tell()), { once: true })
  return audience
}

export function startExchange(
  deadlineMs: number,
  caller: AbortSignal | undefined,
): StartedExchange {
  let controller: AbortController | undefined
  let fault: DialError | undefined
  const stop = (why: DialError) => {
    if (fault) return
    fault = why
    controller?.abort(why)
    context.onAbort?.()
  }
  const expire = () =>
    stop(new DialError('timed_out', `${context.missing} within ${deadlineMs / 1000} seconds`))
  const callOff = () => stop(new DialError('aborted', 'it was called off'))
  const timer = setTimeout(expire, deadlineMs)
  const context: StartedExchange = {
    get fault() {
      return fault
    },
    get signal() {
      if (!controller) {
        controller = new AbortController()
        if (fault) controller.abort(fault)
      }
      return controller.signal
    },
    onAbort: undefined,
    missing: 'no connection',
    address: null,
    stop,
    finish() {
      clearTimeout(timer)
      audience?.delete(callOff)
    },
  }
  const audience = caller && audienceOf(caller)
  if (caller?.aborted) callOff()
  else audience?.add(callOff)
  return context
}

/** Waits for work that cannot be ended, but no longer than the signal allows. @throws its reason */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
