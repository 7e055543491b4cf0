/** Reports the fixes to the health check and the metrics. Reads and caches their state once a minute. */
import { Gauge } from 'prom-client'
import { MINUTE } from '../../lib/clock.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { ComponentHealth } from '../../platform/feature/feature.ts'
import type { Fix } from '../../platform/feature/fix.ts'
import type { Upkeep } from '../../platform/lifecycle/upkeep.ts'
import type { Metrics } from '../../platform/observe/metrics.ts'
import { type FixRow, findScan, listFixes, type ScanRow } from './fixes.store.ts'

export interface SelfHealingHealth {
  check(): ComponentHealth
  /** Returns the fixes with faults that need a person to act, as of the last poll. */
  waiting(): readonly FixRow[]
  /** Reads the current state from the database, without waiting for the next poll. */
  refresh(): Promise<void>
  readonly upkeep: Upkeep
}

export function watchFixes(
  { db, metrics }: { db: Scopes; metrics: Pick<Metrics, 'registry'> },
  known: ReadonlyMap<string, Fix>,
): SelfHealingHealth {
  const keys = [...known.keys()]
  let fixes: readonly FixRow[] = []
  let last: ScanRow | undefined
  const registers = [metrics.registry]
  new Gauge({
    name: 'wardkeep_self_healing_findings',
    help: 'Findings of the last scan, by fix',
    labelNames: ['fix', 'severity'] as const,
    registers,
    collect() {
      this.reset()
      for (const { key, severity, occurrences } of fixes)
        this.set({ fix: key, severity }, occurrences)
    },
  })
  new Gauge({
    name: 'wardkeep_self_healing_scan_seconds',
    help: 'Duration of the last scan in seconds',
    registers,
    collect() {
      if (last) this.set(last.duration_ms / 1000)
    },
  })
  new Gauge({
    name: 'wardkeep_self_healing_scan_timestamp_seconds',
    help: 'Start of the last scan, in seconds since the Unix epoch',
    registers,
    collect() {
      if (last) this.set(Date.parse(last.at) / 1000)
    },
  })
  async function refresh() {
    const state = await db.acrossTenants(
      async (tx) => ({ fixes: await listFixes(tx, keys), last: await findScan(tx) }),
      'read',
    )
    fixes = state.fixes
    last = state.last
  }
  const waiting = () => fixes.filter((row) => waitsForPeople(row, known.get(row.key)))
  return {
    check() {
      const urgent = waiting().filter(isUrgent)
      const [first] = urgent
      if (!first) return { state: 'ok' }
      const titles = urgent.map(({ title }) => title)
      const runbook = urgent.map(({ key }) => known.get(key)?.runbook).find((page) => page)
      return { state: 'degraded', reason: `${titles.join('. ')}.`, runbook: runbook ?? RUNBOOK }
    },
    waiting,
    refresh,
    upkeep: {
      what: 'self-healing health check',
      everyMs: MINUTE,
      isNeededToServe: false,
      run: refresh,
    },
  }
}

const RUNBOOK = 'before-confirming.md'

const isUrgent = ({ severity }: FixRow) => severity === 'high' || severity === 'critical'

/**
 * Returns true if a fix needs a person to act. A fix without a repair is never proposed, so only its findings are
 * considered.
 */
const waitsForPeople = ({ status, occurrences }: FixRow, fix: Fix | undefined) =>
  status === 'proposed' || status === 'failed' || (occurrences > 0 && !fix?.repair)
