/** The patient cache in the hands of administrators: an admin's calls touch their own tenant's alone. */
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
  /** Drops what has expired, on every node. Returns how many this one held. */
  cleanup(caller: Admin): Promise<number>
  /** Drops a patient, or all without an id, on every node. Returns how many this one held. */
  invalidate(caller: Admin, id?: number): Promise<number>
  /**
   * Loads patients into this node's cache, and counts those it holds in the end: not who does not open, nor
   * who found no room or changed meanwhile. It shows nobody any, and so is no read.
   */
  warmUp(caller: ClinicAdmin, ids: readonly number[]): Promise<Warmed>
}

/** Few, so that what they were opened from is collected young, and does not make the heap grow. */
const WARMED_AT_ONCE = 20

/** Which node this is, for people. */
export const NODE = `${hostname()}/${process.pid}`

export function cacheAdministration(deps: CacheDeps): CacheAdministration {
  const { db, changes, cache, loadMany, bounds } = deps

  function requireTrusted(): void {
    if (!changes.trusted())
      throw new Problem('busy', {
        detail: 'Changes of other nodes cannot be heard, so nothing is held; try again shortly',
        retryAfter: 1,
      })
  }

  async function loadHeld(tenantId: number, ids: readonly number[]) {
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
        const there = await cache.warm(tenant_id, some, loadHeld)
        for (const id of some) (there.has(id) ? known : missing_ids).push(id)
      }
      const warmed = known.filter((id) => cache.has(tenant_id, id)).length
      return { requested: ids.length, warmed, missing: missing_ids.length, missing_ids }
    },
  }
}
