/** The response schema of the overview, assembled from the parts of the features. */
import Type, { type Static, type TSchema } from 'typebox'
import { described, Id, Nullable, Timestamp } from '../../../lib/shapes.ts'
import type { OverviewParts } from '../../../platform/feature/feature.ts'
import { sampleOf } from '../../../platform/http/index.ts'
import { Component, StateSchema } from '../health.schema.ts'

export const OverviewQuery = Type.Object({
  tenant_id: Type.Optional(
    described(Id, 'Only this tenant. For superadmins, who see all tenants by default.'),
  ),
})
export type OverviewQuery = Static<typeof OverviewQuery>

const COMMON = {
  as_of: Timestamp,
  tenant_id: Nullable(Id, { description: 'The tenant of the overview. Null for all tenants.' }),
  health: Type.Object({
    status: StateSchema,
    components: Type.Array(Component),
  }),
  missing: Type.Array(Type.String(), {
    description:
      'The parts that could not be read in time, such as `counts.patients`. They are null.',
    examples: [[]],
  }),
}
const Common = Type.Object(COMMON)

/** The parts by name. Null if reading the part failed or the part has no data about this tenant. */
type Read = Record<string, unknown>
export type Overview = Static<typeof Common> & { attention: Read; counts: Read }

const shapeOf = (parts: OverviewParts, description: string): TSchema =>
  Type.Object(
    Object.fromEntries(
      Object.entries(parts).map(([name, { schema }]) => [
        name,
        Nullable(schema, { examples: [sampleOf(schema, name)] }),
      ]),
    ),
    { description },
  )

/** Returns the response schema of the overview, which contains every part of every feature. */
export const overviewSchema = (attention: OverviewParts, counts: OverviewParts) =>
  Type.Unsafe<Overview>(
    Type.Object(
      {
        as_of: COMMON.as_of,
        tenant_id: COMMON.tenant_id,
        attention: shapeOf(attention, 'What may need attention.'),
        counts: shapeOf(counts, 'Numbers of records, and the latest changes.'),
        health: COMMON.health,
        missing: COMMON.missing,
      },
      { $id: 'Overview' },
    ),
  )
