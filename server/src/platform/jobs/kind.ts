/** The kinds of jobs, each with its name, retries and time limits. */

declare const carries: unique symbol

/** A kind of job with data of type `T`. */
export interface JobKind<T extends object> {
  readonly name: string
  /** The number of retries after the first attempt. */
  readonly retries: number
  readonly retryDelaySeconds: number
  /**
   * Whether each delay is about twice the previous one, with random variation to spread retries of simultaneous
   * failures.
   */
  readonly retryBackoff: boolean
  /** The maximum delay with `retryBackoff`. */
  readonly retryDelayMaxSeconds?: number
  /** The lease in seconds. A longer attempt has failed. An attempt of a dead process ends with its lease. */
  readonly expireInSeconds: number
  readonly [carries]?: T
}

/** Defines a kind of job. By default, 5 retries with increasing delays from 10 s, and a lease of 5 minutes. */
export function jobKind<T extends object>(
  name: string,
  options: Partial<Omit<JobKind<T>, 'name'>> = {},
): JobKind<T> {
  return Object.freeze({
    retries: 5,
    retryDelaySeconds: 10,
    retryBackoff: true,
    expireInSeconds: 300,
    ...options,
    name,
  })
}

/** How long failed jobs are kept for inspection. Completed jobs are deleted immediately. */
const KEEP_FAILED_SECONDS = 7 * 24 * 60 * 60

/** Returns the limits of a kind as pg-boss options. They apply to the queue of the kind and to each job. */
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
