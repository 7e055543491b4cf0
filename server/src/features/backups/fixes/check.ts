/**
 * Reads backups again, one every few hours, the one that was read longest ago: gigabytes that no look of
 * self-healing could read. What came of it is in their entries.
 */

import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { verifyFile } from '../create/create.ts'
import { saveUnread, saveVerified } from '../drill/drill.store.ts'
import { UnreadableFile } from '../file/age.ts'
import type { Keeper } from '../file/identity.ts'
import { fileName } from '../file/names.ts'
import { NotStoredError, type OpenStore, StoreError } from '../stores/store.ts'
import type { Reading } from '../work/reading.ts'
import { nextToCheck, saveChecked, type ToCheck } from './fixes.store.ts'

const CHECK = jobKind<Record<string, never>>('backups.check', {
  expireInSeconds: 24 * 60 * 60 - 1,
})
/** Four a day: what a day's backup costs to read is read four times over. */
const CRON = '41 1,7,13,19 * * *'
/** What was read since is not read again. */
const OLD_MS = DAY
/** Where so many are not handed out it is the store's fault, and no use to have it read all of them. */
const MOST_UNREAD = 3

export interface CheckDeps {
  db: Scopes
  store: OpenStore
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

/**
 * Reads the one that was read longest ago; the next one where the store does not hand it out, so that none keeps the
 * others from their turn. Returns the id of the one that was read; undefined where all were of late, or where a few in
 * a row are not handed out.
 */
export async function checkNext(deps: CheckDeps, signal: AbortSignal): Promise<string | undefined> {
  const unread: string[] = []
  while (unread.length < MOST_UNREAD) {
    const before = isoAt(deps.clock, -OLD_MS)
    const backup = await deps.db.acrossTenants((tx) => nextToCheck(tx, before, unread), 'read')
    if (!backup || (await check(deps, backup, signal))) return backup?.id
    unread.push(backup.id)
  }
  return undefined
}

/** Reads a backup, and says what came of it. Returns whether the store has handed it out. */
async function check(deps: CheckDeps, backup: ToCheck, signal: AbortSignal): Promise<boolean> {
  const { db, store, keeper, reading, log } = deps
  const { id, sha256, rewritten_at } = backup
  const file = { name: fileName(id, rewritten_at), sha256 }
  await using _held = await reading.hold(id)
  try {
    await verifyFile(store, keeper, file, signal, () => undefined)
  } catch (error) {
    signal.throwIfAborted()
    const isRead = await saveFault(deps, backup, error)
    log.error({ err: error, backup: id }, 'a backup is not as it was written, or cannot be read')
    return isRead
  }
  await db.acrossTenants((tx) => saveVerified(tx, backup, true))
  return true
}

/** @throws what the store says where it is away, or what is no word of a store's: that tells nothing of its files */
async function saveFault(
  { db, store }: CheckDeps,
  backup: ToCheck,
  error: unknown,
): Promise<boolean> {
  if (error instanceof UnreadableFile)
    await db.acrossTenants((tx) => saveVerified(tx, backup, false))
  // Of one whose file is gone the store tells by itself.
  else if (error instanceof NotStoredError)
    await db.acrossTenants((tx) => saveChecked(tx, backup.id))
  else {
    const { syscall } = error as NodeJS.ErrnoException
    if (!(error instanceof StoreError) && syscall === undefined) throw error
    await store.check()
    await db.acrossTenants((tx) => saveUnread(tx, backup))
    return false
  }
  return true
}
