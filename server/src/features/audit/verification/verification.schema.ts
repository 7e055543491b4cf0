import Type, { type Static } from 'typebox'
import { Nullable, Timestamp } from '../../../lib/shapes.ts'

const Count = (description: string, example: number) =>
  Type.Integer({ minimum: 0, description, examples: [example] })

const Running = Type.Object({
  size: Count('The number of entries that are verified.', 1200),
  done: Count('The number of entries that were verified so far.', 400),
  started_at: Timestamp,
  is_requested: Type.Boolean({ description: 'Whether a person requested it.', examples: [false] }),
})

export const AuditVerifications = Type.Object(
  {
    items: Type.Array(
      Type.Object({
        tenant_id: Type.Integer({
          description: 'The tenant of the log, or 0 for entries without a tenant.',
          examples: [7],
        }),
        epoch: Type.Integer({ examples: [1] }),
        size: Count('The number of sealed entries.', 1200),
        verified_size: Count(
          'The number of entries that the last verification that ended has verified.',
          1200,
        ),
        verified_at: Nullable(Timestamp, { description: 'When it ended. Null before the first.' }),
        findings: Count(
          'The number of findings of tampering, at most 1,000. They are in the audit log as `audit.tampering_found`.',
          0,
        ),
        running: Type.Union([Running, Type.Null()], {
          description: 'The running verification. Null while none runs.',
        }),
      }),
    ),
  },
  { $id: 'AuditVerifications' },
)
export type AuditVerifications = Static<typeof AuditVerifications>

export const VerifyQuery = Type.Object({
  tenant_id: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Only the log of this tenant. For superadmins, 0 for entries without a tenant.',
      examples: [7],
    }),
  ),
})
export type VerifyQuery = Static<typeof VerifyQuery>
