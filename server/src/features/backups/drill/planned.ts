/** Drills by themselves: the newest backup of everything at the times of BACKUP_DRILL_SCHEDULE. */
import type { Cron } from '../../../lib/cron.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import { fileName } from '../create/create.ts'
import type { Store } from '../stores/store.ts'
import { newestFull, saveDrill } from './drill.store.ts'
import { clearDrills, type DrillDeps, drill } from './drill.ts'

/** The longest that a drill may take; one that fails is done once more. */
const DRILL = jobKind<Record<string, never>>('backups.drill', {
  retries: 1,
  retryDelaySeconds: 600,
  expireInSeconds: 24 * 60 * 60 - 1,
})

export interface PlannedDrillDeps extends DrillDeps {
  db: Scopes
  jobs: Jobs
  store: Store
  cron: Cron | undefined
}

export function schedulesDrills(deps: PlannedDrillDeps): void {
  const { jobs, cron } = deps
  jobs.schedule(DRILL, cron?.text)
  jobs.work(DRILL, async () => {
    if (cron) await drillNewest(deps)
  })
}

/** Returns the seconds that it took; null where there is no backup. @throws what the drill throws */
export async function drillNewest(
  deps: Omit<PlannedDrillDeps, 'jobs' | 'cron'>,
): Promise<number | null> {
  const { db, store, dataDir, log } = deps
  await clearDrills(dataDir, log)
  const id = await db.acrossTenants(newestFull, 'read')
  if (id === undefined) return null
  const name = fileName(id)
  const { seconds } = await drill(store.read(name), await store.size(name), deps)
  await db.acrossTenants(async (tx) => {
    if (!(await saveDrill(tx, id, seconds))) return
    await append(tx, SYSTEM, {
      action: 'backup.verified',
      tenant_id: (await findPlatformTenant(tx))?.id ?? null,
      resource_type: 'backup',
      resource_id: id,
      changes: { type: 'full', drill_seconds: seconds },
    })
  })
  log.info({ backup: id, seconds }, 'a backup was restored in a drill')
  return seconds
}
