/** The patient cache on the wire. */
import Type, { type Static } from 'typebox'
import { Id } from '../../../lib/shapes.ts'

const Count = Type.Integer({ minimum: 0 })

export const CacheStats = Type.Object(
  {
    node: Type.String({
      examples: ['node-1'],
      description: 'which node answers: the figures are its own',
    }),
    backend: Type.Literal('memory'),
    entries: { ...Count, examples: [1200] },
    max_entries: Type.Integer({
      examples: [10000],
      minimum: 0,
      description: 'of all tenants together',
    }),
    bytes: { ...Count, examples: [2500000] },
    max_bytes: Type.Integer({
      examples: [67108864],
      minimum: 0,
      description: 'of all tenants together',
    }),
    hits: { ...Count, examples: [9000] },
    misses: { ...Count, examples: [1000] },
    hit_ratio: Type.Number({
      examples: [0.9],
      minimum: 0,
      maximum: 1,
      description: '0 before the first read',
    }),
    evictions: Type.Integer({ minimum: 0, description: 'dropped to make room' }),
    expirations: Type.Integer({ minimum: 0, description: 'dropped for their age' }),
    ttl_seconds: { ...Count, examples: [300] },
  },
  { $id: 'CacheStats' },
)
export type CacheStats = Static<typeof CacheStats>

export const CleanedUp = Type.Object({
  removed: Type.Integer({ minimum: 0, description: 'on the node that answers' }),
})

export const Invalidation = Type.Object({
  patient_id: Type.Optional(Id),
  all: Type.Optional(Type.Boolean()),
})

export const Invalidated = Type.Object({
  invalidated: Type.Integer({ minimum: 0, description: 'on the node that answers' }),
})

const MAX_WARMED = 1_000

export const WarmUp = Type.Object({ patient_ids: Type.Array(Id, { maxItems: MAX_WARMED }) })

export const Warmed = Type.Object({
  requested: Type.Integer({ examples: [2], minimum: 0, description: 'each id counts once' }),
  warmed: Type.Integer({
    examples: [1],
    minimum: 0,
    description:
      'Patients that the node holds afterwards. Patients that exist but are not held (no room, changed during the call, or not decryptable) are neither warmed nor missing.',
  }),
  missing: { ...Count, examples: [1] },
  missing_ids: Type.Array(Id, { examples: [[9002]], description: 'no patients of the tenant' }),
})
export type Warmed = Static<typeof Warmed>
