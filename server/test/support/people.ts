/** Users for tests. Their sessions start without a password check. */

import { accessTokens } from '../../src/features/auth/tokens/access-tokens.ts'
import type { Role } from '../../src/lib/roles.ts'
import { type OpenedService, PUBLIC_URL, SUPERADMIN } from './open-service.ts'

export interface Person {
  id: number
  tenant_id: number
  email: string
  password: string
  role: Role
  token: string
  refresh: string
}

export const STAFF = ['admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const

export interface Clinic {
  id: number
  subdomain: string
  departmentId: number
  people: Record<(typeof STAFF)[number], Person>
}

/** The users of the golden template. Each test gets newly signed access tokens. */
export interface GoldenPeople {
  /** The superadmin, or undefined once a test has used it. */
  root?: Person
  /** The clinics by subdomain, except those that a test has already used. */
  clinics: Record<string, Clinic>
}

/** The headers of injected requests. */
const ORIGIN = {
  ip: '127.0.0.1',
  user_agent: 'lightMyRequest',
  request_id: '00000000-0000-4000-8000-000000000000',
}

/** A token response, as returned by sign-in. */
export interface Tokens {
  user_id: number
  tenant_id: number
  role: Role
  access_token: string
  refresh_token: string
}

/**
 * Starts a session as a successful sign-in does, without hashing the password.
 * @throws Error when the tenant has no such user
 */
export async function signInAs(
  { app }: OpenedService,
  { email, password, subdomain }: { email: string; password: string; subdomain: string },
): Promise<Person> {
  const issued = await app.db.acrossTenants(async (tx) => {
    const account = await tx.db
      .selectFrom('users')
      .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
      .select(['users.id', 'users.tenant_id', 'users.email', 'users.full_name', 'users.role'])
      .select('tenants.is_demo')
      .where('tenants.subdomain', '=', subdomain)
      .where('users.email', '=', email)
      .executeTakeFirstOrThrow()
    const known = { ...account, restriction: null, is_console: false, idle_setting: null }
    return app.features.auth.sessions.start(tx, known, ORIGIN)
  })
  return personOf(app.features.auth.sessions.tokens(issued), { email, password })
}

/** Marks the address of a user as confirmed, as the link of a mail does. */
export async function confirmAddress({ app }: OpenedService, id: number): Promise<void> {
  await app.db.acrossTenants((tx) =>
    tx.db
      .updateTable('users')
      .set({ email_verified_at: new Date(app.db.clock.now()).toISOString() })
      .where('id', '=', id)
      .execute(),
  )
}

/** The bootstrap superadmin in a new session. */
export const superadminOf = (service: OpenedService): Promise<Person> =>
  signInAs(service, { ...SUPERADMIN, subdomain: 'platform' })

/** Returns the person with a new access token for the same session. */
export function withFreshToken({ app, clock }: OpenedService, person: Person): Person {
  const [, claims = ''] = person.token.split('.')
  const { jti } = JSON.parse(Buffer.from(claims, 'base64url').toString())
  const { id: userId, tenant_id: tenantId, role } = person
  const tokens = accessTokens(app.features.auth.keys, clock, PUBLIC_URL)
  const { token } = tokens.sign({ userId, tenantId, role, jti, isConsole: false })
  return { ...person, token }
}

/** Builds a person from a token response. */
export function personOf(tokens: Tokens, known: { email: string; password: string }): Person {
  return {
    ...known,
    id: tokens.user_id,
    tenant_id: tokens.tenant_id,
    role: tokens.role,
    token: tokens.access_token,
    refresh: tokens.refresh_token,
  }
}
