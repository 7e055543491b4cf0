/** The tuning of a delivering process: its concurrency limits, intervals and timeouts. */

export interface Tuning {
  /** The maximum number of messages under way that started within the last `slowAfterMs`. */
  quick: number
  /** The maximum number of messages that have been under way for longer than `slowAfterMs`. */
  slow: number
  /** The time after which a message counts as slow, in milliseconds. */
  slowAfterMs: number
  /** The maximum number of leased queues, not counting queues of slow receivers. */
  queues: number
  slowQueues: number
  /** Milliseconds between polls if no notification arrives. */
  pollMs: number
  heartbeatMs: number
  /** How long an idle queue stays leased. `timeSliceMs` limits a busy queue while other queues wait. */
  idleTimeoutMs: number
  timeSliceMs: number
  /** The time limit for recording results at shutdown. The same limit applies again to releasing queues. */
  flushTimeoutMs: number
}

export const TUNING: Tuning = {
  quick: 512,
  slow: 2048,
  slowAfterMs: 1000,
  queues: 256,
  slowQueues: 1024,
  pollMs: 1000,
  heartbeatMs: 3000,
  idleTimeoutMs: 1000,
  timeSliceMs: 5000,
  flushTimeoutMs: 1000,
}
