/**
 * Carries a purge on into the store: the note that outlives the database, and the end of the tenant's own
 * backups. What is to be done is in the database, so a store that is away is tried again.
 */

import { MINUTE } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import { logFailures, type Scopes } from '../../../platform/db/index.ts'
import type { Background } from '../../../platform/feature.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { Keeper } from '../file/identity.ts'
import { idOf, sidecarName } from '../file/names.ts'
import type { Store, StoredObject } from '../stores/store.ts'
import { listUnerased, type Purged, saveErased } from './erase.store.ts'
import { leaveNote } from './notes.ts'
import { type NoteDeps, noteRecords } from './purged-records.ts'
import { type Unknown, unknownIn } from './unknown.ts'

const LOOK_EVERY_MS = 5 * MINUTE

export interface EraseDeps {
  db: Scopes
  store: Store
  keeper: Keeper
  log: Logger
}

/** Looks for purges that the store has not heard of, until stopped. */
export function startErasing(deps: EraseDeps & NoteDeps): Background {
  const stopping = new AbortController()
  const looking = poller(
    async () => {
      await erasePurged(deps, stopping.signal)
      await noteRecords(deps, stopping.signal)
      return false
    },
    {
      clock: deps.db.clock,
      pollMs: LOOK_EVERY_MS,
      onError: logFailures('erasing what was purged', deps.log),
    },
  )
  return {
    idle: looking.idle,
    stop() {
      stopping.abort()
      return looking.stop()
    },
  }
}

/** @throws what the store says, once all were tried */
export async function erasePurged(deps: EraseDeps, signal: AbortSignal): Promise<void> {
  const { db, log } = deps
  const failures: unknown[] = []
  const unerased = await db.acrossTenants(listUnerased, 'read')
  if (unerased.length === 0) return
  const unknown = await unknownIn(deps)
  for (const purged of unerased) {
    if (signal.aborted) return
    try {
      const left = await erase(deps, purged, unknown, signal)
      if (left.length > 0)
        throw new Error(
          `the store keeps ${left.length} objects of backups of tenant ${purged.tenant_id}`,
        )
      await db.acrossTenants((tx) => saveErased(tx, purged.tenant_id))
      log.info({ tenant: purged.tenant_id }, 'a purged tenant is noted in the store of backups')
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/**
 * Returns the names of what the store keeps of the tenant's own backups, for a while or for good.
 * @param unknown that lie in the store alone: its own are among them where the database was lost since
 */
export async function erase(
  { store, keeper }: Pick<EraseDeps, 'store' | 'keeper'>,
  purged: Purged,
  unknown: readonly Unknown[],
  signal: AbortSignal,
): Promise<string[]> {
  await leaveNote(store, keeper, purged, signal)
  const backups = [...purged.backups, ...ownOf(purged, unknown)]
  const isOwn = ({ name }: StoredObject) =>
    backups.some((id) => idOf(name) === id || name === sidecarName(id))
  // Before they are forgotten who they are of: a file without a list entry is an orphan, which nobody adopts.
  for (const { name } of (await store.list()).filter(isOwn))
    if (idOf(name) !== undefined) await store.delete(name)
  const left = (await store.list()).filter(isOwn).map(({ name }) => name)
  if (left.some((name) => idOf(name) !== undefined)) return left
  for (const id of backups) await store.delete(sidecarName(id))
  return (await store.list()).filter(isOwn).map(({ name }) => name)
}

const ownOf = ({ tenant_id, installation }: Purged, unknown: readonly Unknown[]): string[] =>
  unknown.flatMap(({ id, told }) => {
    if (typeof told === 'string' || told.backup_id !== id || told.type !== 'tenant') return []
    return told.tenant_id === tenant_id && told.installation === installation ? [id] : []
  })
