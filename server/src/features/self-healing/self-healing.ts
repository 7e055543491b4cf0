/** Assembles the self-healing feature. The fixes are declared by other features. */
import type { Needs } from '../../core.ts'
import { purgerOf } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature/feature.ts'
import type { Fix } from '../../platform/feature/fix.ts'
import { jobKind, trackedJobs } from '../../platform/jobs/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { fixOperations } from './fixes.routes.ts'
import { type Fixes, fixesService } from './fixes.service.ts'
import { insertMissing } from './fixes.store.ts'
import { watchFixes } from './health.ts'
import { repairsAttention } from './overview.ts'
import { runScan, type Scan, type ScanOptions } from './scan/scan.ts'
import { requestedScans, SCAN_JOB } from './scan/scan-now.ts'

type Core = Needs<
  'db' | 'clock' | 'log' | 'jobs' | 'metrics' | 'openConnection' | 'outage',
  'SELF_HEALING' | 'SELF_HEALING_SCAN'
>

/** The scheduled scan. Another scan follows, so it is not retried. Expires after the time limits of all detectors. */
const SCAN = jobKind<Record<string, never>>('self-healing.scan', {
  retries: 0,
  expireInSeconds: 1800,
})

const purgers = [purgerOf('self_healing_findings'), purgerOf('self_healing_repairs')]

export interface SelfHealing extends Feature {
  /** Starts a scan immediately. Returns undefined if another scan is already running. */
  scan(options?: ScanOptions): Promise<Scan | undefined>
  readonly service: Fixes
}

/**
 * Opens self-healing and adds missing fixes to the catalogue.
 * @param list the fixes of all features
 * @param detectMs the time limit of a detector; tests pass a shorter one
 * @throws Error if two fixes have the same key
 */
export async function openSelfHealing(
  core: Core,
  list: readonly Fix[],
  detectMs?: number,
): Promise<SelfHealing> {
  const { db, log, jobs, config } = core
  const fixes = byKey(list)
  await db.acrossTenants((tx) => insertMissing(tx, list))
  const watch = watchFixes(core, fixes)
  const changed = () => canFail(watch.refresh(), 'self-healing health check', log)
  const deps = { ...core, fixes, changed, repairs: config.SELF_HEALING === 'auto' }
  const scanOnce = async (options?: ScanOptions) => {
    const scanned = await runScan(detectMs === undefined ? deps : { ...deps, detectMs }, options)
    await changed()
    return scanned
  }
  jobs.schedule(SCAN, config.SELF_HEALING === 'off' ? undefined : config.SELF_HEALING_SCAN.text)
  jobs.work(SCAN, async (_data, { signal }) => {
    // Skips the scan after a long outage. Overdue work is then expected, and not a fault.
    if (!core.outage.isRecent()) await scanOnce({ signal, isPatient: true })
  })
  const service = fixesService(deps)
  const requested = requestedScans({ ...deps, scan: scanOnce })
  return {
    name: 'self-healing',
    operations: fixOperations(service, requested),
    checks: { self_healing: watch.check },
    attention: repairsAttention(watch.waiting),
    jobs: [trackedJobs(db, [SCAN_JOB], 'checks')],
    stopping: requested.stop,
    close: requested.ended,
    upkeep: [watch.upkeep],
    async purgeRows(tx, tenantId, limit) {
      for (const purge of purgers) if (await purge(tx, tenantId, limit)) return true
      return false
    },
    scan: scanOnce,
    service,
  }
}

function byKey(list: readonly Fix[]): ReadonlyMap<string, Fix> {
  const fixes = new Map<string, Fix>()
  for (const fix of list) {
    if (fixes.has(fix.key)) throw new Error(`the fix ${fix.key} is registered twice`)
    fixes.set(fix.key, fix)
  }
  return fixes
}
