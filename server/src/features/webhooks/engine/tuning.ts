/** The tuning of a process that delivers messages: its concurrency limits, intervals and timeouts. */

export interface Tuning {
  /** The maximum number of messages in flight that started within the last `slowAfterMs`. */
  quick: number
  /** The maximum number of messages that have been in flight for longer than `slowAfterMs`. */
  slow: number
  /** The time after which a message counts as slow, in milliseconds. */
  slowAfterMs: number
  /** The maximum number of leased queues. Queues of slow receivers do not count. */
  queues: number
  slowQueues: number
  /** Milliseconds between polls if no notification arrives. */
  pollMs: number
  heartbeatMs: number
  /** How long an idle queue stays leased. While other queues wait, `timeSliceMs` limits a busy queue. */
  idleTimeoutMs: number
  timeSliceMs: number
  /** The time limit for recording results at shutdown. The release of the queues afterwards has the same limit. */
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
