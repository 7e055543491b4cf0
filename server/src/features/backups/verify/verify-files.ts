/**
 * Verifies one backup every few hours, starting with the one whose last verification is oldest. Backups are too large
 * to be read by a self-healing check. The results are stored with the backups.
 */

import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { verifyFile } from '../create/create.ts'
import { saveUnread, saveVerified } from '../drill/drill.store.ts'
import { UnreadableFile } from '../file/age.ts'
import type { BackupKeys } from '../file/identity.ts'
import { fileName } from '../file/names.ts'
import { nextToCheck, saveChecked, type ToCheck } from '../fixes/fixes.store.ts'
import { NotStoredError, type OpenStore, StoreError } from '../stores/store.ts'
import type { BackupReadLocks } from '../work/reading.ts'

const CHECK = jobKind<Record<string, never>>('backups.check', {
  expireInSeconds: 24 * 60 * 60 - 1,
})
/**
 * Runs four times a day, and verifies one backup each time. If all backups have the same size, this reads four times
 * that size per day.
 */
const CRON = '41 1,7,13,19 * * *'
/** A backup that was verified within this time is skipped. */
const OLD_MS = DAY
/** After this many unavailable files in a row, the store itself has probably failed, so the job stops. */
const MAX_UNREAD = 3

export interface CheckDeps {
  db: Scopes
  store: OpenStore
  backupKeys: BackupKeys
  reading: BackupReadLocks
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
 * Verifies the backup whose last verification is oldest. If the store cannot return its file, continues with the next
 * backup, so that one file cannot block the others. Returns the id of the verified backup. Returns undefined if all
 * backups were verified recently, or several files in a row were unavailable.
 */
export async function checkNext(deps: CheckDeps, signal: AbortSignal): Promise<string | undefined> {
  const unread: string[] = []
  while (unread.length < MAX_UNREAD) {
    const before = isoAt(deps.clock, -OLD_MS)
    const backup = await deps.db.acrossTenants((tx) => nextToCheck(tx, before, unread), 'read')
    if (!backup || (await check(deps, backup, signal))) return backup?.id
    unread.push(backup.id)
  }
  return undefined
}

/** Verifies a backup and records the result. Returns false if the store did not return the file. */
async function check(deps: CheckDeps, backup: ToCheck, signal: AbortSignal): Promise<boolean> {
  const { db, store, backupKeys, reading, log } = deps
  const { id, sha256, rewritten_at } = backup
  const file = { name: fileName(id, rewritten_at), sha256 }
  await using _lock = await reading.lock(id)
  try {
    await verifyFile(store, backupKeys, file, signal, () => undefined)
  } catch (error) {
    signal.throwIfAborted()
    const isRead = await saveFault(deps, backup, error)
    log.error({ err: error, backup: id }, 'backup verification failed')
    return isRead
  }
  await db.acrossTenants((tx) => saveVerified(tx, backup, true))
  return true
}

/** Records why a verification failed. @throws the error if the store is unreachable or the failure has another cause */
async function saveFault(
  { db, store }: CheckDeps,
  backup: ToCheck,
  error: unknown,
): Promise<boolean> {
  if (error instanceof UnreadableFile)
    await db.acrossTenants((tx) => saveVerified(tx, backup, false))
  // Records nothing, because a separate self-healing check reports missing files.
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
