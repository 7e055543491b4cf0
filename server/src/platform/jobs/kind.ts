/** What a kind of job is: its name, and how often and how long it is tried. */

declare const carries: unique symbol

/** A kind of job whose data are `T`. */
export interface JobKind<T extends object> {
  readonly name: string
  /** How often it is tried again after the first attempt. */
  readonly retries: number
  readonly retryDelaySeconds: number
  /** Whether each wait is about twice the one before, scattered so that failures do not march in step. */
  readonly retryBackoff: boolean
  /** The longest wait that `retryBackoff` grows to. */
  readonly retryDelayMaxSeconds?: number
  /** The lease: an attempt that takes longer has failed, and so has one whose process died. */
  readonly expireInSeconds: number
  /** Whether days later it still does what it was for, and no harm: given up, it may be tried again. */
  readonly mayRunLate: boolean
  readonly [carries]?: T
}

/**
 * Names a kind of job. Without options: 5 retries that wait from 10 s on, of 5 minutes each, and of use
 * however late.
 */
export function jobKind<T extends object>(
  name: string,
  options: Partial<Omit<JobKind<T>, 'name'>> = {},
): JobKind<T> {
  return Object.freeze({
    retries: 5,
    retryDelaySeconds: 10,
    retryBackoff: true,
    expireInSeconds: 300,
    mayRunLate: true,
    ...options,
    name,
  })
}

/** Failed jobs stay this long for someone to look at; done ones are deleted at once. */
const KEEP_FAILED_SECONDS = 7 * 24 * 60 * 60

/** The kind in pg-boss' words, as both its queue and each of its jobs take it. */
export function limitsOf(kind: JobKind<object>) {
  return {
    retryLimit: kind.retries,
    retryDelay: kind.retryDelaySeconds,
    retryBackoff: kind.retryBackoff,
    ...(kind.retryDelayMaxSeconds === undefined
      ? {}
      : { retryDelayMax: kind.retryDelayMaxSeconds }),
    expireInSeconds: kind.expireInSeconds,
    deleteAfterSeconds: KEEP_FAILED_SECONDS,
  }
}
