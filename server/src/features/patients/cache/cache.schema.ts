/** Request and response schemas for the administration of the patient cache. */
import Type, { type Static } from 'typebox'
import { Id } from '../../../lib/shapes.ts'

const Count = Type.Integer({ minimum: 0 })

export const CacheStats = Type.Object(
  {
    node: Type.String({
      examples: ['node-1'],
      description: 'The node that responds. All figures are of this node.',
    }),
    backend: Type.Literal('memory'),
    entries: { ...Count, examples: [1200] },
    max_entries: Type.Integer({
      examples: [10000],
      minimum: 0,
      description: 'The limit for all tenants together.',
    }),
    bytes: { ...Count, examples: [2500000] },
    max_bytes: Type.Integer({
      examples: [67108864],
      minimum: 0,
      description: 'The limit for all tenants together.',
    }),
    hits: { ...Count, examples: [9000] },
    misses: { ...Count, examples: [1000] },
    hit_ratio: Type.Number({
      examples: [0.9],
      minimum: 0,
      maximum: 1,
      description: 'The share of reads that were answered from the cache. 0 before the first read.',
    }),
    evictions: Type.Integer({ minimum: 0, description: 'Patients removed to make room.' }),
    expirations: Type.Integer({
      minimum: 0,
      description: 'Patients removed because of their age.',
    }),
    ttl_seconds: { ...Count, examples: [300] },
  },
  { $id: 'CacheStats' },
)
export type CacheStats = Static<typeof CacheStats>

export const CleanedUp = Type.Object({
  removed: Type.Integer({
    minimum: 0,
    description: 'The number of patients removed on the node that responds.',
  }),
})

export const Invalidation = Type.Object({
  patient_id: Type.Optional(Id),
  all: Type.Optional(Type.Boolean()),
})

export const Invalidated = Type.Object({
  invalidated: Type.Integer({
    minimum: 0,
    description: 'The number of patients removed on the node that responds.',
  }),
})

const MAX_WARMED = 1_000

export const WarmUp = Type.Object({ patient_ids: Type.Array(Id, { maxItems: MAX_WARMED }) })

export const Warmed = Type.Object({
  requested: Type.Integer({
    examples: [2],
    minimum: 0,
    description: 'The number of distinct ids in the request.',
  }),
  warmed: Type.Integer({
    examples: [1],
    minimum: 0,
    description:
      'Patients in the cache afterwards. Patients that exist but could not be cached (no room, changed during the call, or not decryptable) are neither warmed nor missing.',
  }),
  missing: { ...Count, examples: [1] },
  missing_ids: Type.Array(Id, {
    examples: [[9002]],
    description: 'Ids that do not belong to a patient of the tenant.',
  }),
})
export type Warmed = Static<typeof Warmed>
