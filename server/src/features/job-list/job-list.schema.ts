import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import { described, Id, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { JOB_STATUSES, JOB_UNITS } from '../../platform/feature/job-source.ts'

const Count = Type.Integer({ minimum: 0 })

export const jobList = defineList(
  'jobs',
  { created_at: 'time', id: 'text' },
  { sort_by: 'created_at', sort_order: 'desc' },
)

/** Returns the schemas, which name the kinds of all features. */
export function jobSchemas(kinds: readonly string[]) {
  const kind = (description: string) => OneOf(kinds, { description, examples: ['backup'] })
  const Job = Type.Object(
    {
      job_id: Type.String({ examples: ['5f3d1c0b-9a53-4c0e-8b1e-2f7f2f1f0c11'] }),
      kind: kind('The kind of work.'),
      tenant_id: Nullable(Id, { description: 'Null for a job of the whole installation.' }),
      subject_id: Nullable(
        Type.String({
          description: 'The record that the job reads or changes: a backup or a webhook.',
          examples: ['b0c5a7f4-6f0e-4b5c-9a53-2f7f2f1f0c11'],
        }),
      ),
      status: OneOf(JOB_STATUSES, { examples: ['running'] }),
      phase: Nullable(Type.String(), {
        description:
          'The current phase, or the last one of a job that failed. Null for a job without phases, and for a completed backup or restore.',
        examples: ['Writing the rows to the file'],
      }),
      done: Nullable(Count, { description: 'The work done in this phase.', examples: [412] }),
      total: Nullable(Count, {
        description: 'The work of this phase. Null while the amount is unknown.',
        examples: [900],
      }),
      unit: OneOf(JOB_UNITS, { description: 'What `done` and `total` count.' }),
      rate: Nullable(Type.Number({ minimum: 0 }), {
        description: 'The average work per second in this phase. Null before the first progress.',
        examples: [103.5],
      }),
      error: Nullable(Type.String(), { description: 'Why the job failed.', examples: [null] }),
      result: Type.Unsafe<object | null>({
        type: ['object', 'null'],
        additionalProperties: true,
        description: 'The result of a completed job, such as the changes of a restore.',
        examples: [null],
      }),
      created_by: Nullable(Id, {
        description: 'The user who started the job. Null for schedules and the command line.',
      }),
      created_by_email: Nullable(Type.String({ examples: ['anna.admin@north.example'] })),
      created_at: Timestamp,
      started_at: Nullable(Timestamp),
      progressed_at: Nullable(Timestamp, { description: 'When the progress was last recorded.' }),
      finished_at: Nullable(Timestamp, { examples: [null] }),
      can_cancel: Type.Boolean({
        description: 'Whether the job can be cancelled now.',
        examples: [true],
      }),
    },
    { $id: 'Job' },
  )
  const JobQuery = Type.Object({
    status: Type.Optional(OneOf(JOB_STATUSES, { description: 'Only jobs with this status.' })),
    kind: Type.Optional(kind('Only jobs of this kind.')),
    tenant_id: Type.Optional(described(Id, 'Only jobs of this tenant. For superadmins.')),
    ...jobList.query,
  })
  return { Job, JobQuery, JobPage: pageOf(Job) }
}

export type JobSchemas = ReturnType<typeof jobSchemas>
export type Job = Static<JobSchemas['Job']>
export type JobQuery = Static<JobSchemas['JobQuery']>

/** Accepts any text. An unknown id gets the response 404. */
export const LongJobPath = Type.Object({
  job_id: Type.String({ maxLength: 200, description: 'The id of the job.' }),
})
