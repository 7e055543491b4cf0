/** The state of a running exchange: why it was aborted, or the event for which it waits. */
import { DialError } from './dial-error.ts'

export interface ExchangeContext {
  /** Why the exchange was aborted (deadline, caller or shutdown), or undefined while it runs. */
  readonly fault: DialError | undefined
  /**
   * A signal that aborts with `fault`. It is created on first use, because exchanges over a pooled connection do not
   * need it.
   */
  readonly signal: AbortSignal
  /** Called when the exchange is aborted. The current step sets this callback. A callback is cheaper than a signal. */
  onAbort: (() => void) | undefined
  /**
   * The event for which the exchange waits, such as "no connection". The error message of the deadline starts with it.
   */
  missing: string
  /** The IP address of the server, or null until it is known. */
  address: string | null
}

export interface StartedExchange extends ExchangeContext {
  /** Aborts the exchange with this error. */
  stop(fault: DialError): void
  /** Cancels the deadline after the exchange has ended. */
  finish(): void
}

const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Returns the callbacks to run when the signal aborts. Whenever a listener is added or removed, a signal scans all its
 * listeners. A signal of the whole process would have hundreds of listeners, so all callbacks of a signal share one.
 */
function audienceOf(signal: AbortSignal): Set<() => void> {
  const known = waiting.get(signal)
  if (known) return known
  const audience = new Set<() => void>()
  waiting.set(signal, audience)
  signal.addEventListener('abort', () => audience.forEach((callback) => void callback()), {
    once: true,
  })
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
  const callOff = () => stop(new DialError('aborted', 'the request was cancelled'))
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

/** Waits for work that cannot be cancelled. Stops waiting when the signal aborts. @throws the signal's reason */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}
