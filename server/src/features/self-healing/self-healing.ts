/** Self-healing, put together: it knows what a fix is, and none by name. */
import type { Needs } from '../../core.ts'
import { purgerOf } from '../../platform/db/index.ts'
import type { Feature } from '../../platform/feature.ts'
import type { Fix } from '../../platform/fix.ts'
import { jobKind } from '../../platform/jobs/index.ts'
import { canFail } from '../../platform/observe/can-fail.ts'
import { fixOperations } from './fixes.routes.ts'
import { type Fixes, fixesService } from './fixes.service.ts'
import { insertMissing } from './fixes.store.ts'
import { type Scan, type ScanOptions, scan } from './scan/scan.ts'
import { watchFixes } from './watch.ts'

type Core = Needs<
  'db' | 'clock' | 'log' | 'jobs' | 'metrics' | 'openConnection',
  'SELF_HEALING' | 'SELF_HEALING_SCAN'
>

/** Tried once, and never later: the next scan comes anyway. It outlasts detectors that all run into their bound. */
const SCAN = jobKind<Record<string, never>>('self-healing.scan', {
  retries: 0,
  mayRunLate: false,
  expireInSeconds: 1800,
})

const purgers = [purgerOf('self_healing_findings'), purgerOf('self_healing_repairs')]

export interface SelfHealing extends Feature {
  /** Scans once, now; undefined where another scan is under way. */
  scan(options?: ScanOptions): Promise<Scan | undefined>
  readonly service: Fixes
}

/**
 * @param list all fixes that there are
 * @param lookMs what a detector may take, where a test cannot wait
 * @throws Error when two have one key
 */
export async function openSelfHealing(
  core: Core,
  list: readonly Fix[],
  lookMs?: number,
): Promise<SelfHealing> {
  const { db, log, jobs, config } = core
  const fixes = byKey(list)
  await db.acrossTenants((tx) => insertMissing(tx, list))
  const watch = watchFixes(core, fixes)
  const changed = () => canFail(watch.look(), 'looking at the fixes', log)
  const deps = { ...core, fixes, changed, repairs: config.SELF_HEALING === 'auto' }
  const scanOnce = async (options?: ScanOptions) => {
    const scanned = await scan(lookMs === undefined ? deps : { ...deps, lookMs }, options)
    await changed()
    return scanned
  }
  jobs.schedule(SCAN, config.SELF_HEALING === 'off' ? undefined : config.SELF_HEALING_SCAN.text)
  jobs.work(SCAN, async (_data, { signal }) => void (await scanOnce({ signal, isPatient: true })))
  const service = fixesService(deps)
  return {
    name: 'self-healing',
    operations: fixOperations(service),
    checks: { self_healing: watch.check },
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
    if (fixes.has(fix.key)) throw new Error(`the fix ${fix.key} is there twice`)
    fixes.set(fix.key, fix)
  }
  return fixes
}
