/** The audit log on the wire. */
import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import { described, Id, Nullable, Timestamp } from '../../lib/shapes.ts'

export const AuditEntry = Type.Object(
  {
    id: Id,
    tenant_id: Nullable(Id),
    user_id: Nullable(Id),
    user_email: Nullable(Type.String({ examples: ['anna.admin@north.example'] })),
    action: Type.String({ examples: ['user.blocked'] }),
    resource_type: Type.String({ examples: ['user'] }),
    resource_id: Nullable(Type.String({ examples: ['57'] })),
    changes: Type.Unsafe<Record<string, unknown> | null>({
      type: ['object', 'null'],
      additionalProperties: true,
      examples: [{ before: { is_active: true }, after: { is_active: false } }],
    }),
    ip: Nullable(Type.String({ examples: ['203.0.113.7'] })),
    user_agent: Nullable(Type.String({ examples: ['Mozilla/5.0'] })),
    request_id: Nullable(Type.String({ examples: ['0c1d2e3f-4a5b-4c0e-9a53-7d1f0c9e4b5c'] })),
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
  tenant_id: Type.Optional(described(Id, 'Only entries of this tenant. For superadmins.')),
  action: Type.Optional(
    Type.String({
      maxLength: 2_000,
      description: 'Actions and groups of them, with commas between: `user.blocked,auth.*`',
    }),
  ),
  user_id: Type.Optional(described(Id, 'Only entries of actions by this user.')),
  about_user: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'What a user did, and what was done with their account',
    }),
  ),
  resource_type: Type.Optional(
    Type.String({ maxLength: 100, description: 'The kind of record, such as `user`.' }),
  ),
  resource_id: Type.Optional(
    Type.String({ maxLength: 200, description: 'The history of one record; with resource_type' }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  ...auditList.query,
})
export type AuditQuery = Static<typeof AuditQuery>
