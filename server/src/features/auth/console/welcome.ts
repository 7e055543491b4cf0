import Type, { type Static } from 'typebox'
import { ROLES } from '../../../lib/roles.ts'
import { Nullable, OneOf } from '../../../lib/shapes.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { findAskedTenant } from '../../tenants/index.ts'
import type { AskTenant } from '../sign-in/asked-tenant.ts'

const Demo = Type.Object({
  subdomain: Type.String({ examples: ['demo'] }),
  password: Type.String({ examples: ['try-Wardkeep-26'] }),
  people: Type.Array(
    Type.Object({
      email: Type.String({ examples: ['nurse@demo.local'] }),
      full_name: Type.String({ examples: ['Nora Pfleger'] }),
      role: OneOf(ROLES, { examples: ['nurse'] }),
    }),
  ),
})

export type Demo = Static<typeof Demo>

export const Welcome = Type.Object(
  {
    tenant: Nullable(
      Type.Object({
        name: Type.String({ examples: ['North Clinic'] }),
        subdomain: Type.String({ examples: ['north'] }),
      }),
    ),
    demo: Nullable(Demo),
    password_reset_available: Type.Boolean(),
    registration_available: Type.Boolean(),
  },
  { $id: 'Welcome' },
)
export type Welcome = Static<typeof Welcome>

export type AskWelcome = (host: string) => Promise<Welcome>

export interface WelcomeDeps {
  db: Scopes
  askTenant: AskTenant
  /** The demo tenant and its users; null if this service has no demo. */
  demo: Demo | null
  canMail: boolean
}

/** Returns a function that provides the data of the sign-in page for a host name. */
export function welcoming({ db, askTenant, demo, canMail }: WelcomeDeps): AskWelcome {
  return async (host) => {
    const asked = askTenant(null, host)
    const [tenant, demoTenant] = await db.acrossTenants(
      async (tx) => [
        asked && (await findAskedTenant(tx, asked)),
        demo && (await findAskedTenant(tx, { subdomain: demo.subdomain })),
      ],
      'read',
    )
    return {
      tenant: tenant?.is_active ? { name: tenant.name, subdomain: tenant.subdomain } : null,
      demo: demoTenant?.is_demo && demoTenant.is_active ? demo : null,
      password_reset_available: canMail,
      registration_available: true,
    }
  }
}
