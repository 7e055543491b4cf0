/** Tenants on the wire. */
import Type, { type Static } from 'typebox'
import { patterned } from '../../lib/patterns.ts'
import type { Refuse } from '../../lib/problems.ts'
import { ROLES } from '../../lib/roles.ts'
import { FreeForm, Id, idOf, Name, Timestamp } from '../../lib/shapes.ts'
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

/** What is never a tenant's subdomain: names that the service or its hosts need themselves. */
export const RESERVED_SUBDOMAINS: readonly string[] = ['www', 'api', 'admin', 'app', 'static']

/** RFC 1035 label in lower case, and none of the reserved words (decisions §2). */
const Subdomain = Type.String({
  ...patterned(
    '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
    'be 1 to 63 lower-case letters, digits and hyphens, and begin and end with a letter or digit',
  ),
  noneOf: RESERVED_SUBDOMAINS,
  description: `an RFC 1035 label in lower case, and none of ${RESERVED_SUBDOMAINS.join(', ')}`,
})

const SETTINGS = {
  registration: {
    type: 'string',
    enum: ['open', 'approval', 'closed'],
    description: 'who may register: anyone, anyone after approval (default), or nobody',
  },
  require_totp: {
    type: 'array',
    eachOf: ROLES,
    description: 'the roles that must have a second factor',
  },
  idle_minutes: {
    type: 'integer',
    minimum: 2,
    maximum: 60,
    description: 'minutes after which the console signs out a user who does nothing (default 15)',
  },
  listed: { type: 'boolean', description: 'false keeps the tenant off the public list' },
} as const

/** Free-form, but what the service itself reads in it has its type. */
const Settings = Type.Unsafe<Record<string, unknown>>({ ...FreeForm, properties: SETTINGS })

/** Refuses keys that are almost those the service reads: a misspelt demand would demand nothing. */
export function refuseMisspelt(
  settings: Record<string, unknown> | undefined,
  refuse: Refuse,
): void {
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
