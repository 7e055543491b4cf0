/**
 * Reads backups again, one every few hours, the one that was read longest ago: gigabytes that no look of
 * self-healing could read. What came of it is in their entries.
 */
import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { fileName, verifyFile } from '../create/create.ts'
import { saveVerified } from '../drill/drill.store.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Keeper } from '../file/identity.ts'
import { NotStoredError, type Store } from '../stores/store.ts'
import type { Reading } from '../work/reading.ts'
import { nextToCheck, saveChecked } from './fixes.store.ts'

const CHECK = jobKind<Record<string, never>>('backups.check', {
  expireInSeconds: 24 * 60 * 60 - 1,
})
/** Four a day: what a day's backup costs to read is read four times over. */
const CRON = '41 1,7,13,19 * * *'
/** What was read since is not read again. */
const OLD_MS = DAY

export interface CheckDeps {
  db: Scopes
  store: Store
  keeper: Keeper
  reading: Reading
  clock: Clock
  log: Logger
}

export function checksBackups(deps: CheckDeps & { jobs: Jobs }): void {
  deps.jobs.schedule(CHECK, CRON)
  deps.jobs.work(CHECK, async (_data, { signal }) => {
    await checkNext(deps, signal)
  })
}

/** Reads the one that was read longest ago. Returns its id; undefined where all were read of late. */
export async function checkNext(
  { db, store, keeper, reading, clock, log }: CheckDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  const backup = await db.acrossTenants((tx) => nextToCheck(tx, isoAt(clock, -OLD_MS)), 'read')
  if (!backup) return undefined
  const { id, sha256, rewritten_at } = backup
  await using _held = await reading.hold(id)
  try {
    await verifyFile(
      store,
      keeper,
      { name: fileName(id, rewritten_at), sha256 },
      signal,
      () => undefined,
    )
    await db.acrossTenants((tx) => saveVerified(tx, backup, true))
  } catch (error) {
    const isUnreadable = error instanceof UnreadableFile
    // Of one whose file is gone the store tells by itself.
    if (!isUnreadable && !(error instanceof NotStoredError)) throw error
    log.error({ err: error, backup: id }, 'a backup is not as it was written')
    await db.acrossTenants(async (tx) => {
      if (isUnreadable) await saveVerified(tx, backup, false)
      await saveChecked(tx, id)
    })
  }
  return id
}
