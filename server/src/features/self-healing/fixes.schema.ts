/** Fixes on the wire. */
import Type, { type Static } from 'typebox'
import { pageOf } from '../../lib/page.ts'
import { Id, idOf, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import type { Evidence } from '../../platform/fix.ts'
import { SEVERITIES, STATUSES } from './self-healing.table.ts'

const Count = Type.Integer({ minimum: 0 })

const Measure = Type.Unsafe<Evidence>({ type: 'object', additionalProperties: true })

export const Result = Type.Object(
  {
    repaired: Count,
    already_gone: Count,
    failed: Count,
    remaining: Count,
    duration_ms: Count,
  },
  { $id: 'FixResult' },
)

export const FixFinding = Type.Object(
  {
    tenant_id: Nullable(Id, { description: "null for the platform's" }),
    subject: Type.String({ examples: ['department 12'] }),
    measured: Measure,
    expected: Measure,
    since: Timestamp,
  },
  { $id: 'FixFinding' },
)
export type FixFinding = Static<typeof FixFinding>

export const Fix = Type.Object(
  {
    id: Id,
    key: Type.String({ examples: ['departments.head'] }),
    title: Type.String({ examples: ['Department without an active head doctor'] }),
    description: Type.String({
      examples: ['The head doctor of a department is blocked or no longer a doctor.'],
    }),
    plan: Type.String({
      examples: ['Removes the head doctor from the department.'],
      description: 'what a repair does; without one, what to do instead',
    }),
    runbook: Nullable(Type.String({ examples: ['docs/runbooks/departments-head.md'] })),
    severity: OneOf(SEVERITIES),
    status: OneOf(STATUSES),
    automatic: Type.Boolean(),
    repairable: Type.Boolean({
      examples: [true],
      description: 'false where people have to decide',
    }),
    reason: Nullable(
      Type.String({ description: 'why it waits although it is automatic, or why it has failed' }),
    ),
    unknown: Nullable(Type.String({ description: 'why the last look could tell nothing' })),
    occurrences: Count,
    evidence: Type.Array(FixFinding, { description: 'the first 20 of what was found' }),
    last_detected_at: Nullable(Timestamp),
    applied_at: Nullable(Timestamp),
    applied_by: Nullable(Id, { description: 'user; null where it was applied by itself' }),
    result: Type.Union([Result, Type.Null()]),
  },
  { $id: 'Fix' },
)
export type Fix = Static<typeof Fix>

export const FixPage = pageOf(Fix)
export type FixPage = Static<typeof FixPage>

export const FixPath = Type.Object({ fix_id: idOf('fix', 4) })

export const SeedQuery = Type.Object({
  overwrite: Type.Boolean({
    default: false,
    description: 'put those that were changed, or are not idle, back to how they came',
  }),
})

export const Seeded = Type.Object(
  { created: Count, updated: Count, skipped: Count },
  { $id: 'SeededFixes' },
)
export type Seeded = Static<typeof Seeded>

const counts = <const Names extends readonly string[]>(names: Names) =>
  Type.Object(
    Object.fromEntries(names.map((name) => [name, Count])) as Record<Names[number], typeof Count>,
  )

const LastScan = Type.Object({
  at: Timestamp,
  duration_ms: Count,
  looked_at: Type.Integer({ minimum: 0, description: 'fixes whose detectors ran' }),
  unknown: Type.Integer({ minimum: 0, description: 'of these, those that could tell nothing' }),
})
export type LastScan = Static<typeof LastScan>

export const FixStats = Type.Object(
  {
    total: Count,
    by_status: counts(STATUSES),
    by_severity: counts(SEVERITIES),
    occurrences: Type.Integer({ minimum: 0, description: 'findings of all fixes' }),
    success_rate: Nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'of all that was applied, what ended well; null before the first',
      }),
    ),
    last_scan: Type.Union([LastScan, Type.Null()]),
  },
  { $id: 'FixStats' },
)
export type FixStats = Static<typeof FixStats>
