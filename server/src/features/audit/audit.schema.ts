/** The audit log on the wire. */
import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import { Id, Nullable, Timestamp } from '../../lib/shapes.ts'

export const AuditEntry = Type.Object(
  {
    id: Id,
    tenant_id: Nullable(Id),
    user_id: Nullable(Id),
    user_email: Nullable(Type.String()),
    action: Type.String(),
    resource_type: Type.String(),
    resource_id: Nullable(Type.String()),
    changes: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
    }),
    ip: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    created_at: Timestamp,
  },
  { $id: 'AuditEntry' },
)
export type AuditEntry = Static<typeof AuditEntry>

export const AuditPage = pageOf(AuditEntry)

const DateOrTime = Type.String({
  format: 'date-or-time',
  description: 'A date, which means the whole UTC day, or a date and time; inclusive',
})

export const auditList = defineList(
  'audit',
  { created_at: 'time', id: 'integer' },
  { sort_by: 'created_at', sort_order: 'desc' },
)

export const AuditQuery = Type.Object({
  tenant_id: Type.Optional(Id),
  action: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description: 'Actions and groups of them, with commas between: `user.blocked,auth.*`',
    }),
  ),
  user_id: Type.Optional(Id),
  about_user: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'What a user did, and what was done with their account',
    }),
  ),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(
    Type.String({ maxLength: 200, description: 'The history of one record; with resource_type' }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...auditList.query,
})
export type AuditQuery = Static<typeof AuditQuery>
