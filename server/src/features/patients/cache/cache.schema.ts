/** The patient cache on the wire. */
import Type, { type Static } from 'typebox'
import { Id } from '../../../lib/shapes.ts'

const Count = Type.Integer({ minimum: 0 })

export const CacheStats = Type.Object(
  {
    node: Type.String({ description: 'which node answers: the figures are its own' }),
    backend: Type.Literal('memory'),
    entries: Count,
    max_entries: Type.Integer({ minimum: 0, description: 'of all tenants together' }),
    bytes: Count,
    max_bytes: Type.Integer({ minimum: 0, description: 'of all tenants together' }),
    hits: Count,
    misses: Count,
    hit_ratio: Type.Number({ minimum: 0, maximum: 1, description: '0 before the first read' }),
    evictions: Type.Integer({ minimum: 0, description: 'dropped to make room' }),
    expirations: Type.Integer({ minimum: 0, description: 'dropped for their age' }),
    ttl_seconds: Count,
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
  requested: Type.Integer({ minimum: 0, description: 'each id counts once' }),
  warmed: Type.Integer({
    minimum: 0,
    description:
      'held by the node in the end; who is there but not held (no room, changed meanwhile, does not ' +
      'open) is neither warmed nor missing',
  }),
  missing: Count,
  missing_ids: Type.Array(Id, { description: 'no patients of the tenant' }),
})
export type Warmed = Static<typeof Warmed>
