/** Deletes what BACKUP_KEEP no longer keeps, and what a crash has left in the store. */

import { type Clock, DAY, isoAt } from '../../../lib/clock.ts'
import { lockUntilEnd, type Scopes, type TenantTx } from '../../../platform/db/index.ts'
import type { OutboundHold } from '../../../platform/hold/index.ts'
import { type JobContext, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { SYSTEM } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { findPlatformTenant } from '../../tenants/index.ts'
import { deleteWithFile } from '../delete.ts'
import { idOf, sidecarName } from '../file/names.ts'
import type { Store } from '../stores/store.ts'
import { destroyUnneededRoots, type RootKeysDeps } from './root-keys.ts'
import { findOutdated, knownOf, type Outdated } from './schedule.store.ts'

const OUTDATED = jobKind<Record<string, never>>('backups.outdated', { expireInSeconds: 3600 })

/** Safety backups stay this long, and what is told of failed ones. */
const ANYWAY_MS = 7 * DAY
/** No backup takes this long: what has no row by then is nobody's. */
const ORPHAN_MS = 2 * DAY

export interface RetentionDeps {
  db: Scopes
  store: Store
  clock: Clock
  log: Logger
  /** How many are kept of everything, and of each tenant. */
  keep: number
}

/**
 * Returns what is to be called in the transaction that completes a backup: nothing is deleted without one, nor before
 * the release of a restored copy, whose store may be that of the service which the backup is of.
 */
export function deletesOutdated(
  deps: RetentionDeps & RootKeysDeps & { jobs: Jobs; hold: OutboundHold },
) {
  const { jobs, hold } = deps
  const work = async (_data: object, { signal }: JobContext) => {
    const clock = await deps.db.agreedClock.read()
    await deleteOutdated({ ...deps, clock }, signal)
    await deleteOrphans({ ...deps, clock })
    await destroyUnneededRoots(deps)
  }
  jobs.work(OUTDATED, work, { when: hold.whenReleased })
  return (tx: TenantTx): Promise<void> => jobs.send(tx, OUTDATED, {}, { singletonKey: 'all' })
}

/** Exported for its test. */
export async function deleteOutdated(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  const { db, store, clock, log, keep } = deps
  const limits = { keep, anyway: isoAt(clock, -ANYWAY_MS) }
  const { outdated, platform } = await db.acrossTenants(
    async (tx) => ({
      outdated: await findOutdated(tx, limits),
      platform: (await findPlatformTenant(tx))?.id ?? null,
    }),
    'read',
  )
  const locked: string[] = []
  for (const backup of outdated) {
    if (signal.aborted) return
    const told = { ...backup, told: backup.tenant_id ?? platform }
    const state = isLocked(backup, clock)
      ? 'locked'
      : await db.acrossTenants(async (tx) => {
          await lockUntilEnd(tx, 'storeDeletion')
          // The deletions before may have taken minutes. If a newer backup was deleted or failed since,
          // this one is needed again.
          const stillOutdated = await findOutdated(tx, limits)
          if (!stillOutdated.some(({ id }) => id === backup.id)) return 'needed'
          return deleteWithFile(tx, SYSTEM, told, { files: store, log })
        })
    if (state === 'locked') locked.push(backup.id)
  }
  if (locked.length > 0)
    log.info({ backups: locked }, 'outdated backups stay until their locks end')
}

const isLocked = ({ locked_until: until }: Outdated, clock: Clock): boolean =>
  until !== null && Date.parse(until) > clock.now()

/**
 * Deletes what no row and no list entry tells of: what died between its two files, or between its row
 * and its file. One with a list entry stays: it may be all that is left of a lost database. Exported
 * for its test.
 */
export async function deleteOrphans({ db, store, clock }: RetentionDeps): Promise<void> {
  const before = clock.now() - ORPHAN_MS
  await store.sweep(before)
  const objects = await store.list()
  const names = new Set(objects.map(({ name }) => name))
  const orphans = objects.flatMap(({ name, writtenAt }) => {
    const id = idOf(name)
    return id && writtenAt < before && !names.has(sidecarName(id)) ? [{ id, name }] : []
  })
  const ids = orphans.map(({ id }) => id)
  const known = await db.acrossTenants((tx) => knownOf(tx, ids), 'read')
  for (const { id, name } of orphans) if (!known.has(id)) await store.delete(name)
}
