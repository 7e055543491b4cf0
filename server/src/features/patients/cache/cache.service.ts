/** Administers the patient cache. An administrator's calls affect only the patients of their own tenant. */
import { hostname } from 'node:os'
import { Problem } from '../../../lib/problems.ts'
import type { Admin, ClinicAdmin } from '../../../platform/access/index.ts'
import { type Changes, forCaller, type Scopes, scopeOf } from '../../../platform/db/index.ts'
import { actorOf, requireSession } from '../../../platform/journal/index.ts'
import type { LoadPatients } from '../records/load.ts'
import { hasPatient } from '../records/records.store.ts'
import type { CacheStats, Warmed } from './cache.schema.ts'
import { type CacheBounds, cachedOf, type PatientCache } from './patient-cache.ts'

export interface CacheDeps {
  db: Scopes
  changes: Pick<Changes, 'trusted'>
  cache: PatientCache
  loadMany: LoadPatients
  bounds: CacheBounds
}

export interface CacheAdministration {
  stats(caller: Admin): CacheStats
  /** Drops expired patients from the caches of all nodes. Returns how many were dropped on this node. */
  cleanup(caller: Admin): Promise<number>
  /** Drops one patient (all without `id`) from the caches of all nodes. Returns how many this node had cached. */
  invalidate(caller: Admin, id?: number): Promise<number>
  /**
   * Loads patients into this node's cache and counts those that are cached afterwards. Patients that cannot be
   * decrypted, that do not fit, or that change during the call do not count. Journals no read, because the result
   * contains no patient data.
   */
  warmUp(caller: ClinicAdmin, ids: readonly number[]): Promise<Warmed>
}

/** The number of patients per batch. After a small batch, its rows can be garbage-collected before the heap grows. */
const WARMED_AT_ONCE = 20

/** The name of this node in responses: host name and process id. */
export const NODE = `${hostname()}/${process.pid}`

export function cacheAdministration(deps: CacheDeps): CacheAdministration {
  const { db, changes, cache, loadMany, bounds } = deps

  function requireTrusted(): void {
    if (!changes.trusted())
      throw new Problem('busy', {
        detail:
          'This node receives no change notifications, so its cache is disabled. Try again shortly.',
        retryAfter: 1,
      })
  }

  async function loadRecords(tenantId: number, ids: readonly number[]) {
    const records = await loadMany(tenantId, ids)
    return new Map(records.map((record) => [record.id, cachedOf(record)]))
  }

  return {
    stats(caller) {
      const { entries, bytes, hits, misses, ...gone } = cache.stats(scopeOf(caller))
      return {
        node: NODE,
        backend: 'memory',
        entries,
        max_entries: bounds.maxEntries,
        bytes,
        max_bytes: bounds.maxBytes,
        hits,
        misses,
        hit_ratio: hits + misses === 0 ? 0 : hits / (hits + misses),
        ...gone,
        ttl_seconds: bounds.ttlSeconds,
      }
    },

    async cleanup(caller) {
      const scope = scopeOf(caller)
      const removed = cache.dropExpired(scope)
      await forCaller(db, caller, async (tx) => {
        requireSession(tx, actorOf(caller))
        tx.invalidate(scope === null ? 'expired_patients' : `expired_patients:${scope}`)
      })
      return removed
    },

    invalidate(caller, id) {
      const scope = scopeOf(caller)
      return forCaller(db, caller, async (tx) => {
        requireSession(tx, actorOf(caller))
        if (id === undefined) tx.invalidate(scope === null ? 'patients' : `patients:${scope}`)
        else if (await hasPatient(tx, id)) tx.invalidate(`patient:${id}`)
        else return 0
        return id === undefined ? cache.stats(scope).entries : Number(cache.has(scope, id))
      })
    },

    async warmUp({ tenant_id }, given) {
      const ids = [...new Set(given)]
      const known: number[] = []
      const missing_ids: number[] = []
      for (let at = 0; at < ids.length; at += WARMED_AT_ONCE) {
        requireTrusted()
        const some = ids.slice(at, at + WARMED_AT_ONCE)
        const there = await cache.warm(tenant_id, some, loadRecords)
        for (const id of some) (there.has(id) ? known : missing_ids).push(id)
      }
      const warmed = known.filter((id) => cache.has(tenant_id, id)).length
      return { requested: ids.length, warmed, missing: missing_ids.length, missing_ids }
    },
  }
}
