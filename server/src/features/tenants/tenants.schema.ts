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
} as const

/** A free-form object. Only the settings that the service itself uses have fixed types. */
const Settings = Type.Unsafe<Record<string, unknown>>({ ...FreeForm, properties: SETTINGS })

/** Rejects keys that look like misspelt settings, because a misspelt security setting would have no effect. */
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
