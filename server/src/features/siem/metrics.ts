import { Counter, Gauge, type Registry } from 'prom-client'

export interface SiemMetrics {
  sent(count: number): void
  rejected(): void
  failed(): void
}

/** @param lagSeconds returns the age of the oldest entry that is not delivered, or 0 */
export function siemMetrics(registry: Registry, lagSeconds: () => Promise<number>): SiemMetrics {
  const entries = new Counter({
    name: 'wardkeep_siem_entries_total',
    help: 'Entries of the audit log that were sent to the SIEM, or that it rejected for good, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  const failures = new Counter({
    name: 'wardkeep_siem_failures_total',
    help: 'Failed attempts to send entries to the SIEM',
    registers: [registry],
  })
  new Gauge({
    name: 'wardkeep_siem_lag_seconds',
    help: 'Age of the oldest entry of the audit log that the SIEM has not confirmed',
    registers: [registry],
    async collect() {
      this.set(await lagSeconds())
    },
  })
  return {
    sent: (count) => entries.inc({ outcome: 'sent' }, count),
    rejected: () => entries.inc({ outcome: 'rejected' }),
    failed: () => failures.inc(),
  }
}
