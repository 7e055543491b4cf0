import Type, { type Static } from 'typebox'
import { defineList, pageOf } from '../../lib/page.ts'
import { patterned } from '../../lib/patterns.ts'
import { described, Id, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { ACTION_GROUPS } from '../../platform/journal/index.ts'

const STORED = {
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
}
export const StoredEntry = Type.Object(STORED)
/** A journal entry as stored in the database. */
export type StoredEntry = Static<typeof StoredEntry>

/** The current names of the user and of the resource that an entry refers to. */
const NAMES = {
  user_name: Nullable(
    Type.String({
      description:
        'The current name of the user. Null once the user is deleted, and for users of other tenants unless a superadmin lists all tenants.',
      examples: ['Anna Admin'],
    }),
  ),
  resource_name: Nullable(
    Type.String({
      description:
        'The current name of the tenant, department or user, of the user of a session, or the host of a webhook. Null for other resources and once the resource is deleted.',
      examples: ['Nora Nurse'],
    }),
  ),
}

export const AuditEntry = Type.Object({ ...STORED, ...NAMES }, { $id: 'AuditEntry' })
export type AuditEntry = Static<typeof AuditEntry>

export const AuditPage = pageOf(AuditEntry)

const DateOrTime = Type.String({
  format: 'date-or-time',
  description: 'A date, which stands for the whole UTC day, or a date and time. Inclusive.',
})

export const auditList = defineList(
  'audit',
  { created_at: 'time', id: 'integer' },
  { sort_by: 'created_at', sort_order: 'desc' },
)

const UUID = patterned(
  '^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$',
  'be a UUID, such as 0c1d2e3f-4a5b-4c0e-9a53-7d1f0c9e4b5c',
)

export const FILTERS = {
  tenant_id: Type.Optional(described(Id, 'Only entries of this tenant. For superadmins.')),
  action: Type.Optional(
    Type.Array(Type.String({ maxLength: 2_000 }), {
      maxItems: 50,
      description:
        'Only these actions and groups: `user.blocked`, `auth.*`. Repeat the parameter for several, or separate them with commas.',
    }),
  ),
  group: Type.Optional(
    Type.Array(OneOf(ACTION_GROUPS), {
      maxItems: 50,
      description:
        'Only actions of these groups, in addition to those of `action`. Repeat the parameter for several.',
    }),
  ),
  user_id: Type.Optional(described(Id, 'Only entries of actions by this user.')),
  about_user: Type.Optional(
    described(Id, 'Only actions by this user, and changes to their account and sessions.'),
  ),
  resource_type: Type.Optional(
    Type.String({ maxLength: 100, description: 'The kind of record, such as `user`.' }),
  ),
  resource_id: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Only entries about this record. Requires `resource_type`.',
    }),
  ),
  request_id: Type.Optional(
    Type.String({
      ...UUID,
      description: 'Only entries of the request with this `X-Request-Id`.',
    }),
  ),
  ip: Type.Optional(
    Type.String({
      maxLength: 45,
      description: 'Only entries of requests from this IP address, written as in the entries.',
    }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
}
const AuditFilters = Type.Object(FILTERS)
export type AuditFilters = Static<typeof AuditFilters>

export const AuditQuery = Type.Object({ ...FILTERS, ...auditList.query })
export type AuditQuery = Static<typeof AuditQuery>

export const AuditAction = Type.Object(
  {
    action: Type.String({ examples: ['user.blocked'] }),
    meaning: Type.String({ examples: ['A user was blocked and signed out'] }),
    group: OneOf(ACTION_GROUPS, { examples: ['user'] }),
    resource_type: Type.String({
      description: 'The type of the resource that its entries are about.',
      examples: ['user'],
    }),
  },
  { $id: 'AuditAction' },
)
export type AuditAction = Static<typeof AuditAction>

export const AuditActions = Type.Array(AuditAction)
