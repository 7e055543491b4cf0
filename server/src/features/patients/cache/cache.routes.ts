import { admins, clinicAdmins } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { CacheStats, CleanedUp, Invalidated, Invalidation, Warmed, WarmUp } from './cache.schema.ts'
import type { CacheAdministration } from './cache.service.ts'

const tag = 'Cache'

export function cacheOperations(cache: CacheAdministration): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/cache/stats',
      id: 'cacheStats',
      summary: 'Get the cache statistics',
      description:
        "Returns the size and hit rate of the patient cache on the node that responds, for the caller's tenant.",

      tag,
      access: admins,
      success: [200, CacheStats],
      handle: ({ caller }) => cache.stats(caller),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/cache/cleanup',
      id: 'cleanUpCache',
      summary: 'Clean up the cache',
      description: 'Removes expired patients from the caches of all nodes.',

      tag,
      access: admins,
      success: [200, CleanedUp],
      handle: async ({ caller }) => ({ removed: await cache.cleanup(caller) }),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/cache/invalidate',
      id: 'invalidateCache',
      summary: 'Invalidate the cache',
      description: 'Removes one patient, or all, from the caches of all nodes.',

      tag,
      access: admins,
      body: Invalidation,
      refine: ({ body: { patient_id, all }, faulty }, refuse) => {
        const isFaulty = faulty.has('body.patient_id') || faulty.has('body.all')
        if (!isFaulty && (patient_id === undefined) === !all)
          refuse(['body'], 'send either patient_id or all: true')
      },
      success: [200, Invalidated],
      example: { body: { patient_id: 9001 } },
      handle: async ({ caller, body }) => ({
        invalidated: await cache.invalidate(caller, body.patient_id),
      }),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/cache/warmup',
      id: 'warmUpCache',
      summary: 'Warm up the cache',
      description:
        'Loads patients into the cache of the node that responds. Returns no patient data.',

      tag,
      access: clinicAdmins,
      body: WarmUp,
      success: [200, Warmed],
      example: { body: { patient_ids: [9001, 9002] } },
      handle: ({ caller, body }) => cache.warmUp(caller, body.patient_ids),
    }),
  ]
}
