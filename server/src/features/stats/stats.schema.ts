import Type, { type Static } from 'typebox'
import { described, Id, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { BUCKETS } from './buckets.ts'
import { SERIES } from './series.ts'

export const StatsQuery = Type.Object({
  series: Type.Array(OneOf(SERIES), {
    minItems: 1,
    maxItems: SERIES.length,
    description: 'The series to return. Repeat the parameter for several.',
  }),
  from: described(Timestamp, 'The start of the period. The first bucket contains it.'),
  to: described(Timestamp, 'The end of the period, which is exclusive.'),
  bucket: OneOf(BUCKETS, {
    description:
      'The length of the buckets. A period has at most 31 days for `hour` and 400 days for `day`.',
  }),
  time_zone: Type.Optional(
    Type.String({
      maxLength: 64,
      default: 'UTC',
      description:
        'The IANA time zone whose hours and days are the buckets, such as `Europe/Berlin`. A day has 23 or 25 hours when the clocks change.',
    }),
  ),
  tenant_id: Type.Optional(
    described(Id, 'Only this tenant. For superadmins, who see all tenants by default.'),
  ),
})
export type StatsQuery = Static<typeof StatsQuery>

const Count = Type.Integer({ minimum: 0 })
const Milliseconds = (share: string) =>
  Nullable(Type.Integer({ minimum: 0 }), {
    description: `The duration that ${share} of the attempts did not exceed, in milliseconds. Null without attempts.`,
    examples: [84],
  })
const PERCENTILES = { p50_ms: Milliseconds('50 %'), p95_ms: Milliseconds('95 %') }

export const Stats = Type.Object(
  {
    as_of: Timestamp,
    tenant_id: Nullable(Id, { description: 'The tenant of the counts. Null for all tenants.' }),
    bucket: OneOf(BUCKETS),
    time_zone: Type.String({ examples: ['Europe/Berlin'] }),
    buckets: Type.Array(
      Type.Object({
        at: described(Timestamp, 'The start of the bucket.'),
        partial: Type.Boolean({ description: 'Whether the bucket has not ended yet.' }),
      }),
      { description: 'The buckets in order, without those in the future.' },
    ),
    series: Type.Array(
      Type.Object({
        name: OneOf(SERIES),
        total: described(Count, 'The sum of all buckets.'),
        values: Type.Array(Count, { description: 'One count for each bucket.' }),
        durations: Nullable(
          Type.Object({ ...PERCENTILES, values: Type.Array(Type.Object(PERCENTILES)) }),
          {
            description:
              'The durations of delivery attempts, for the period and for each bucket. Null for other series. Estimated within 24 ranges.',
            examples: [null],
          },
        ),
      }),
      { description: 'The series in the order of the request.' },
    ),
  },
  { $id: 'Stats' },
)
export type Stats = Static<typeof Stats>
