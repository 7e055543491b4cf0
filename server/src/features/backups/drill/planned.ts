/** Drills of backups that the database knows: of one, and by themselves at the times of BACKUP_DRILL_SCHEDULE. */

import type { Cron } from '../../../lib/cron.ts'
import { StartupError } from '../../../lib/startup-error.ts'
import { UnreadableError } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, SYSTEM } from '../../../platform/journal/index.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import { fileName } from '../file/names.ts'
import { OtherReleaseError } from '../restore-into-empty/restore.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import type { Reading } from '../work/reading.ts'
import { newestFull, type Proven, type ReadFile, saveDrill, saveVerified } from './drill.store.ts'
import { type DrillDeps, drill } from './drill.ts'
import { clearThrownAway, NotTriedError } from './throw-away.ts'

/** The longest that a drill may take; one that fails is done once more. */
const DRILL = jobKind<Record<string, never>>('backups.drill', {
  retries: 1,
  retryDelaySeconds: 600,
  expireInSeconds: 24 * 60 * 60 - 1,
})

export interface PlannedDrillDeps extends Omit<DrillDeps, 'stores'> {
  db: Scopes
  jobs: Jobs
  store: Store
  reading: Reading
  cron: Cron | undefined
}

export function schedulesDrills(deps: PlannedDrillDeps): void {
  const { jobs, cron } = deps
  jobs.schedule(DRILL, cron?.text)
  jobs.work(DRILL, async () => {
    if (cron) await drillNewest(deps)
  })
}

export type NamedDrillDeps = Omit<PlannedDrillDeps, 'jobs' | 'cron'>

/** Returns the seconds that it took; null where there is no backup. @throws what the drill throws */
export async function drillNewest(deps: NamedDrillDeps): Promise<number | null> {
  await clearThrownAway(deps.dataDir, deps.log)
  const newest = await deps.db.acrossTenants(newestFull, 'read')
  return newest ? drillNamed(deps, newest) : null
}

/**
 * Drills one, and enters what came of it. Returns the seconds that it took.
 * @throws what the drill throws; nobody relies on the backup any more where that was its fault
 */
export async function drillNamed(
  deps: NamedDrillDeps,
  file: ReadFile,
  onProgress?: (share: number) => void,
): Promise<number> {
  const { db, store, log, reading } = deps
  const { id, rewritten_at } = file
  await using _held = await reading.hold(id)
  const name = fileName(id, rewritten_at)
  try {
    const size = await store.size(name)
    const { seconds } = await drill(counted(store.read(name), size, onProgress), size, {
      ...deps,
      stores: [store],
    })
    await db.acrossTenants(async (tx) => {
      const proven = await saveDrill(tx, file, seconds)
      if (proven) await tell(tx, 'verified', id, proven, { drill_seconds: seconds })
    })
    log.info({ backup: id, seconds }, 'a backup was restored in a drill')
    return seconds
  } catch (error) {
    if (isOfBackup(error))
      await db.acrossTenants(async (tx) => {
        const failed = await saveVerified(tx, file, false)
        if (failed) await tell(tx, 'failed', id, failed, { error: 'It failed in its drill.' })
      })
    throw error
  }
}

/** In SQL's codes: no value of its type, a rule that is broken, no such table or column. */
const OF_ROWS = /^(22|23|42)/

/**
 * Whether it is the backup that fails. That nothing could be tried says nothing of it: where its store is away, or the
 * server that it is restored into has no room left or has died, or this release is older than the one that made it.
 */
function isOfBackup(error: unknown): boolean {
  if (error instanceof NotTriedError || error instanceof OtherReleaseError) return false
  if ([NotStoredError, StartupError, UnreadableError].some((kind) => error instanceof kind))
    return true
  return OF_ROWS.test((error as { code?: string }).code ?? '')
}

/** What is of everything is the platform's, whose webhooks are to hear of it. */
async function tell(
  tx: TenantTx,
  what: 'verified' | 'failed',
  id: string,
  { type, tenant_id }: Proven,
  changes: object,
): Promise<void> {
  await append(tx, SYSTEM, {
    action: `backup.${what}`,
    tenant_id: tenant_id ?? (await findPlatformTenant(tx))?.id ?? null,
    resource_type: 'backup',
    resource_id: id,
    changes: { type, ...changes },
  })
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  size: number,
  onProgress?: (share: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    bytes += chunk.length
    onProgress?.(bytes / size)
    yield chunk
  }
}
