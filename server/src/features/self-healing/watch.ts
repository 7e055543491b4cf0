/** How things are with the fixes, for the health report and the metrics: kept in memory, read once a minute. */
import { Gauge } from 'prom-client'
import { MINUTE } from '../../lib/clock.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { State } from '../../platform/feature.ts'
import type { Fix } from '../../platform/fix.ts'
import type { Metrics } from '../../platform/observe/metrics.ts'
import type { Upkeep } from '../../platform/upkeep.ts'
import { type FixRow, findScan, listFixes, type Scan } from './fixes.store.ts'

export interface Watch {
  check(): State
  /** Reads how things are now. */
  look(): Promise<void>
  readonly upkeep: Upkeep
}

export function watchFixes(
  { db, metrics }: { db: Scopes; metrics: Pick<Metrics, 'registry'> },
  known: ReadonlyMap<string, Fix>,
): Watch {
  const keys = [...known.keys()]
  let fixes: readonly FixRow[] = []
  let last: Scan | undefined
  const registers = [metrics.registry]
  new Gauge({
    name: 'wardkeep_self_healing_findings',
    help: 'What the last look of each fix has found',
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
    help: 'Seconds that the last scan took',
    registers,
    collect() {
      if (last) this.set(last.duration_ms / 1000)
    },
  })
  new Gauge({
    name: 'wardkeep_self_healing_scan_timestamp_seconds',
    help: 'When the last scan began, in seconds since the Unix epoch',
    registers,
    collect() {
      if (last) this.set(Date.parse(last.at) / 1000)
    },
  })
  async function look() {
    const seen = await db.acrossTenants(
      async (tx) => ({ fixes: await listFixes(tx, keys), last: await findScan(tx) }),
      'read',
    )
    fixes = seen.fixes
    last = seen.last
  }
  return {
    check: () => (fixes.some((row) => isUrgent(row, known.get(row.key))) ? 'degraded' : 'ok'),
    look,
    upkeep: { what: 'looking at the fixes', everyMs: MINUTE, isNeededToServe: false, run: look },
  }
}

const isUrgent = (row: FixRow, fix: Fix | undefined) =>
  (row.severity === 'high' || row.severity === 'critical') && waitsForPeople(row, fix)

/** What has no repair is never proposed: that it was found has to do. */
const waitsForPeople = ({ status, occurrences }: FixRow, fix: Fix | undefined) =>
  status === 'proposed' || status === 'failed' || (occurrences > 0 && !fix?.repair)
