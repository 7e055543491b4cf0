/**
 * Carries a purge on into the store: the note that outlives the database, and the end of the tenant's own
 * backups. What is to be done is in the database, so a store that is away is tried again.
 */
import { MINUTE } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import { logFailures, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { idOf, sidecarName } from '../create/create.ts'
import type { Keeper } from '../file/identity.ts'
import type { Store } from '../stores/store.ts'
import { listUnerased, type Purged, saveErased } from './erase.store.ts'
import { leaveNote } from './notes.ts'

const LOOK_EVERY_MS = 5 * MINUTE

export interface EraseDeps {
  db: Scopes
  store: Store
  keeper: Keeper
  log: Logger
}

/** Looks for purges that the store has not heard of, until stopped. */
export function startErasing(deps: EraseDeps): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const looking = poller(
    async () => {
      await erasePurged(deps, stopping.signal)
      return false
    },
    { pollMs: LOOK_EVERY_MS, onError: logFailures('erasing what was purged', deps.log) },
  )
  return {
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
  for (const purged of await db.acrossTenants(listUnerased, 'read')) {
    if (signal.aborted) return
    try {
      await erase(deps, purged, signal)
      await db.acrossTenants((tx) => saveErased(tx, purged.tenant_id))
      log.info({ tenant: purged.tenant_id }, 'a purged tenant is noted in the store of backups')
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** @throws Error also where files are still there, which a store may keep for a while */
async function erase({ store, keeper }: EraseDeps, purged: Purged, signal: AbortSignal) {
  await leaveNote(store, keeper, purged, signal)
  const isOwn = (name: string) =>
    purged.backups.some((id) => idOf(name) === id || name === sidecarName(id))
  // The list entry first: a file without one is an orphan, which nobody adopts.
  for (const id of purged.backups) await store.delete(sidecarName(id))
  for (const { name } of await store.list()) if (isOwn(name)) await store.delete(name)
  const left = (await store.list()).filter(({ name }) => isOwn(name))
  if (left.length > 0)
    throw new Error(
      `the store keeps ${left.length} objects of backups of tenant ${purged.tenant_id}`,
    )
}
