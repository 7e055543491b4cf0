/** What can be tuned of a process that delivers: how much it does at once, and how often it looks. */

export interface Tuning {
  /** Messages under way that were begun within the last moment. */
  quick: number
  /** Those that have been under way for longer. */
  slow: number
  /** How long a moment is, in milliseconds. */
  slowAfterMs: number
  /** Queues leased at once, not counting those whose receivers are slow. */
  queues: number
  slowQueues: number
  /** Milliseconds between looks when nothing wakes the engine. */
  pollMs: number
  heartbeatMs: number
  /** How long an idle queue stays leased, as more may come; a busy one while others wait: its time slice. */
  idleTimeoutMs: number
  timeSliceMs: number
  /** At a stop: for writing down what has ended, and again for releasing the queues. */
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
