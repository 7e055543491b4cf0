/** The request and response schemas of the self-healing API. */
import Type, { type Static } from 'typebox'
import { pageOf } from '../../lib/page.ts'
import { Id, idOf, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import type { Evidence } from '../../platform/feature/fix.ts'
import { FIX_STATUSES, SEVERITIES } from './self-healing.table.ts'

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
    tenant_id: Nullable(Id, { description: 'Null for a finding of the whole platform.' }),
    subject: Type.String({ examples: ['department 12'] }),
    subject_name: Nullable(Type.String(), {
      description: 'The current name of the department. Null for other subjects.',
      examples: ['Surgery'],
    }),
    measured: Measure,
    expected: Measure,
    people: Type.Record(Type.String(), Type.String(), {
      description: 'The current names of the users whose ids are in `measured`, by field.',
      examples: [{ head_doctor_id: 'Nora Nurse' }],
    }),
    since: Timestamp,
  },
  { $id: 'FixFinding' },
)
export type FixFinding = Static<typeof FixFinding>

export const FixView = Type.Object(
  {
    id: Id,
    key: Type.String({ examples: ['departments.head'] }),
    title: Type.String({ examples: ['Department without an active head doctor'] }),
    description: Type.String({
      examples: ['The head doctor of a department is blocked or no longer a doctor.'],
    }),
    plan: Type.String({
      examples: ['Removes the head doctor from the department.'],
      description: 'What the repair does, or what to do about a fault without a repair.',
    }),
    runbook: Nullable(Type.String({ examples: ['docs/runbooks/departments-head.md'] })),
    severity: OneOf(SEVERITIES),
    status: OneOf(FIX_STATUSES),
    automatic: Type.Boolean(),
    repairable: Type.Boolean({
      examples: [true],
      description: 'False if the fault has no automatic repair.',
    }),
    reason: Nullable(
      Type.String({
        description:
          'Why an automatic repair is waiting for confirmation, or why the repair failed.',
      }),
    ),
    unknown: Nullable(
      Type.String({ description: 'Why the last scan could not detect the fault.' }),
    ),
    occurrences: Count,
    evidence: Type.Array(FixFinding, { description: 'The first 20 findings.' }),
    last_detected_at: Nullable(Timestamp),
    applied_at: Nullable(Timestamp),
    applied_by: Nullable(Id, {
      description: 'The user who confirmed the repair. Null if it was applied automatically.',
    }),
    applied_by_name: Nullable(Type.String(), {
      description: 'The current name of that user. Null once the user is deleted.',
      examples: ['Anna Admin'],
    }),
    result: Type.Union([Result, Type.Null()]),
  },
  { $id: 'Fix' },
)
export type FixView = Static<typeof FixView>

export const FixPage = pageOf(FixView)
export type FixPage = Static<typeof FixPage>

export const FixPath = Type.Object({ fix_id: idOf('fix', 4) })

export const SeedQuery = Type.Object({
  overwrite: Type.Boolean({
    default: false,
    description: 'True: also reset existing fixes that were changed or are not idle.',
  }),
})

export const Seeded = Type.Object(
  { created: Count, updated: Count, skipped: Count },
  { $id: 'SeededFixes' },
)
export type Seeded = Static<typeof Seeded>

export const ScanOrder = Type.Object(
  {
    job_id: Type.String({
      examples: ['5f3d1c0b-9a53-4c0e-8b1e-2f7f2f1f0c11'],
      description: 'The job of the scan, for `GET /api/admin/jobs/{job_id}`.',
    }),
    started: Type.Boolean({
      examples: [true],
      description:
        'False if a requested scan was already running. `job_id` is the job of that scan.',
    }),
  },
  { $id: 'ScanOrder' },
)
export type ScanOrder = Static<typeof ScanOrder>

const counts = <const Names extends readonly string[]>(names: Names) =>
  Type.Object(
    Object.fromEntries(names.map((name) => [name, Count])) as Record<Names[number], typeof Count>,
  )

const LastScan = Type.Object({
  at: Timestamp,
  duration_ms: Count,
  looked_at: Type.Integer({
    minimum: 0,
    description: 'The number of fixes that were scanned for.',
  }),
  unknown: Type.Integer({ minimum: 0, description: 'The number of fixes whose scan failed.' }),
})
export type LastScan = Static<typeof LastScan>

export const FixStats = Type.Object(
  {
    total: Count,
    by_status: counts(FIX_STATUSES),
    by_severity: counts(SEVERITIES),
    occurrences: Type.Integer({ minimum: 0, description: 'The number of findings of all fixes.' }),
    success_rate: Nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'The share of repairs that succeeded. Null before the first repair.',
      }),
    ),
    last_scan: Type.Union([LastScan, Type.Null()]),
  },
  { $id: 'FixStats' },
)
export type FixStats = Static<typeof FixStats>
