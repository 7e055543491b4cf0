import { Counter, Histogram, type Registry } from 'prom-client'

/** Counts an attempt by its outcome, and records its duration in seconds. */
export type OnAttempt = (outcome: string, seconds: number) => void

export function attemptMetrics(registry: Registry): OnAttempt {
  const attempts = new Counter({
    name: 'wardkeep_webhook_attempts_total',
    help: 'Webhook delivery attempts, by state of the delivery',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'wardkeep_webhook_attempt_seconds',
    help: 'Duration of webhook delivery attempts in seconds',
    buckets: [0.01, 0.05, 0.25, 1, 5, 15],
    registers: [registry],
  })
  // Caches the time series of each outcome, because a lookup by label costs more than counting.
  const known = new Map<string, Counter.Internal>()
  return (outcome, seconds) => {
    const count = known.get(outcome) ?? attempts.labels({ outcome })
    known.set(outcome, count)
    count.inc()
    duration.observe(seconds)
  }
}
