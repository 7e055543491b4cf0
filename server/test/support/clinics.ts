/** Clinics with users of every role, for tests of access rules. */
import type { Role } from '../../src/lib/roles.ts'
import type { OpenedService } from './open-service.ts'
import {
  type Clinic,
  confirmAddress,
  type Person,
  STAFF,
  signInAs,
  superadminOf,
  type Tokens,
  withFreshToken,
} from './people.ts'
import type { Service } from './service.ts'

export { type Clinic, type Person, personOf } from './people.ts'

export const PASSWORD = 'correct-Horse-9'

/** Signs in over HTTP and returns the token response. @throws Error when it is refused */
export async function signIn(
  service: Service,
  credentials: { email: string; password: string; subdomain?: string },
): Promise<Tokens & Record<string, any>> {
  const answer = await service.call('POST', '/api/auth/login', { body: credentials })
  if (answer.status !== 200)
    throw new Error(`sign-in answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/**
 * Returns the bootstrap superadmin. The first call returns the session of the golden template, and later calls start
 * new sessions.
 */
export async function superadmin(service: Service): Promise<Person> {
  const { people } = service.database
  if (people?.root === undefined) return superadminOf(service)
  const { root } = people
  delete people.root
  return withFreshToken(service, root)
}

/** Returns the golden template's clinic with that subdomain. If it is missing or already used, creates a new clinic. */
export async function makeClinic(
  service: Service,
  root: Person,
  subdomain: string,
): Promise<Clinic> {
  const { clinics } = service.database.people ?? {}
  const golden = clinics?.[subdomain]
  if (clinics === undefined || golden === undefined) return createClinic(service, root, subdomain)
  delete clinics[subdomain]
  return { ...golden, people: mapStaff((role) => withFreshToken(service, golden.people[role])) }
}

/** Creates a tenant with a department and one user of each role, all signed in. */
export async function createClinic(
  service: OpenedService,
  root: Person,
  subdomain: string,
): Promise<Clinic> {
  const create = async (path: string, body: object) => {
    const answer = await service.call('POST', path, { token: root.token, body })
    if (answer.status !== 201)
      throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const tenant = await create('/api/admin/tenants', { name: `Clinic ${subdomain}`, subdomain })
  const department = await create('/api/admin/departments', {
    name: 'Surgery',
    tenant_id: tenant.id,
  })
  const people = mapStaff(async (role) => {
    const email = `${role}@${subdomain}.test`
    const { id } = await create('/api/admin/users', {
      email,
      password: PASSWORD,
      full_name: `${role} of ${subdomain}`,
      role,
      tenant_id: tenant.id,
      department_id: department.id,
    })
    await confirmAddress(service, id)
    return signInAs(service, { email, password: PASSWORD, subdomain })
  })
  return {
    id: tenant.id,
    subdomain,
    departmentId: department.id,
    people: {
      admin: await people.admin,
      doctor: await people.doctor,
      nurse: await people.nurse,
      receptionist: await people.receptionist,
      auditor: await people.auditor,
    },
  }
}

/** Maps each role of a clinic to a value. */
function mapStaff<T>(
  valueFor: (role: (typeof STAFF)[number]) => T,
): Record<(typeof STAFF)[number], T> {
  return Object.fromEntries(STAFF.map((role) => [role, valueFor(role)])) as Record<
    (typeof STAFF)[number],
    T
  >
}

/** Returns a token of a user who may call the operation. Prefers the superadmin. */
export function tokenFor(
  { access: { roles } }: { access: { roles: readonly Role[] | null } },
  root: Person,
  { people }: Clinic,
): string {
  if (!roles || roles.includes('superadmin')) return root.token
  const [role] = roles as readonly (keyof Clinic['people'])[]
  return people[role as keyof Clinic['people']].token
}
