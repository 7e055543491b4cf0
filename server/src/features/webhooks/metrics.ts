/** The series of deliveries. */
import { Counter, Histogram, type Registry } from 'prom-client'

/** Counts a try of a delivery: what became of it, and its seconds. */
export type OnAttempt = (outcome: string, seconds: number) => void

export function attemptMetrics(registry: Registry): OnAttempt {
  const attempts = new Counter({
    name: 'wardkeep_webhook_attempts_total',
    help: 'Tries of webhook deliveries, by what became of the delivery',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'wardkeep_webhook_attempt_seconds',
    help: "Seconds from a try's beginning to the end of its answer",
    buckets: [0.01, 0.05, 0.25, 1, 5, 15],
    registers: [registry],
  })
  // Looking a series up by its label costs more than counting; outcomes are few.
  const known = new Map<string, Counter.Internal>()
  return (outcome, seconds) => {
    const count = known.get(outcome) ?? attempts.labels({ outcome })
    known.set(outcome, count)
    count.inc()
    duration.observe(seconds)
  }
}
