import Type, { type Static } from 'typebox'
import { SHORTEST_RETENTION_DAYS } from '../../config/audit-variables.ts'
import { patterned } from '../../lib/patterns.ts'
import type { Refuse } from '../../lib/problems.ts'
import { ROLES } from '../../lib/roles.ts'
import { FreeForm, Id, idOf, Name, Nullable, OneOf, Timestamp } from '../../lib/shapes.ts'
import { misspelt } from '../../lib/spelling.ts'

export const Tenant = Type.Object(
  {
    id: Id,
    name: Type.String({ examples: ['North Clinic'] }),
    subdomain: Type.String({ examples: ['north'] }),
    settings: { ...FreeForm, examples: [{ registration: 'approval' }] },
    is_active: Type.Boolean({ examples: [true] }),
    created_at: Timestamp,
  },
  { $id: 'Tenant' },
)
export type Tenant = Static<typeof Tenant>

/** A tenant in the list of tenants. */
export const ListedTenant = Type.Object(
  {
    ...Tenant.properties,
    users_count: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Only if `counts` was sent. 10001 means more than 10,000.',
        examples: [42],
      }),
    ),
    deleted_at: Nullable(Timestamp, { examples: [null] }),
    restorable_until: Nullable(Timestamp, {
      description:
        'When the data of a deleted tenant is purged. Null for other tenants, and once the purge has started.',
      examples: [null],
    }),
  },
  { $id: 'ListedTenant' },
)
export type ListedTenant = Static<typeof ListedTenant>

/** The maximum number of users that the list counts exactly for each tenant. */
export const MAX_COUNTED_USERS = 10_000

/** The maximum length of lists of tenants that are returned without pagination. */
export const MAX_LISTED = 1_000

export const TenantQuery = Type.Object({
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Only tenants whose name or subdomain contains this text.',
    }),
  ),
  status: Type.Optional(
    OneOf(['active', 'inactive', 'deleted'], {
      description:
        'Only tenants with this status. Deleted tenants are listed only with `deleted`, and only for superadmins.',
    }),
  ),
  counts: Type.Boolean({ default: false, description: 'Adds the number of users of each tenant.' }),
  page: Type.Integer({ minimum: 1, default: 1, description: 'The number of the page.' }),
  limit: Type.Integer({
    minimum: 1,
    maximum: MAX_LISTED,
    default: MAX_LISTED,
    description: 'The number of tenants on a page.',
  }),
})
export type TenantQuery = Static<typeof TenantQuery>

/** Subdomains that no tenant can use, because the service or its hosts use them. */
export const RESERVED_SUBDOMAINS: readonly string[] = ['www', 'api', 'admin', 'app', 'static']

/** A lower-case RFC 1035 label that is not reserved (decisions §2). */
const Subdomain = Type.String({
  ...patterned(
    '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
    'have 1 to 63 lower-case letters, digits or hyphens, and start and end with a letter or digit',
  ),
  noneOf: RESERVED_SUBDOMAINS,
  description: `A DNS label (RFC 1035) in lower case. Reserved names are rejected: ${RESERVED_SUBDOMAINS.join(', ')}.`,
})

const SETTINGS = {
  registration: {
    type: 'string',
    enum: ['open', 'approval', 'closed'],
    description:
      'Who can register: `open` (anyone), `approval` (anyone, after approval by an admin; the default) or `closed` (nobody).',
  },
  require_totp: {
    type: 'array',
    eachOf: ROLES,
    description: 'The roles that must have a second factor.',
  },
  idle_minutes: {
    type: 'integer',
    minimum: 2,
    maximum: 60,
    description:
      'Minutes of inactivity after which the console signs the user out. The default is 15.',
  },
  listed: { type: 'boolean', description: 'False removes the tenant from the public list.' },
  audit_retention_days: {
    type: ['integer', 'null'],
    minimum: SHORTEST_RETENTION_DAYS,
    maximum: 36_500,
    description:
      'Days after which entries of the audit log are archived and removed, longer than `WEBHOOK_RETENTION_DAYS`. Without a value, or with null, all entries are kept. In the settings of the platform, also for entries without a tenant and of purged tenants.',
  },
} as const

/** A free-form object. Only the settings that the service itself uses have fixed types. */
const Settings = Type.Unsafe<Record<string, unknown>>({ ...FreeForm, properties: SETTINGS })

/**
 * Rejects keys that look like misspelt settings, because a misspelt security setting would have no effect, and a
 * retention that is too short for replays of webhooks. @param minRetentionDays the shortest retention of the audit log
 */
export function refuseSettings(
  settings: Record<string, unknown> | undefined,
  minRetentionDays: number,
  refuse: Refuse,
): void {
  const days = settings?.audit_retention_days
  if (typeof days === 'number' && days < minRetentionDays)
    refuse(
      ['body', 'settings', 'audit_retention_days'],
      `must be at least ${minRetentionDays}, because webhook deliveries are kept almost as long`,
    )
  for (const key of Object.keys(settings ?? {})) {
    const meant = misspelt(key, Object.keys(SETTINGS))
    if (meant) refuse(['body', 'settings', key], `unknown setting. Did you mean ${meant}?`)
  }
}

export const NewTenant = Type.Object({
  name: Name,
  subdomain: Subdomain,
  settings: Type.Optional(Settings),
})
export type NewTenant = Static<typeof NewTenant>

export const TenantChange = Type.Object({
  name: Type.Optional(Name),
  settings: Type.Optional(Settings),
  is_active: Type.Optional(Type.Boolean()),
})
export type TenantChange = Static<typeof TenantChange>

export const TenantPath = Type.Object({ tenant_id: idOf('tenant', 3) })

export const PublicTenant = Type.Object(
  {
    id: Id,
    name: Type.String({ examples: ['North Clinic'] }),
    subdomain: Type.String({ examples: ['north'] }),
  },
  { $id: 'PublicTenant' },
)
export type PublicTenant = Static<typeof PublicTenant>
