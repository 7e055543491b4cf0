/** Two clinics with users of every role, for tests of who may do what. */
import type { Role } from '../../src/lib/roles.ts'
import { type Service, SUPERADMIN } from './service.ts'

export const PASSWORD = 'correct-Horse-9'

export interface Person {
  id: number
  tenant_id: number
  email: string
  password: string
  role: Role
  token: string
  refresh: string
}

const STAFF = ['admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const

export interface Clinic {
  id: number
  subdomain: string
  departmentId: number
  people: Record<(typeof STAFF)[number], Person>
}

/** Signs in and answers the token response. @throws Error when it is refused */
export async function signIn(
  service: Service,
  credentials: { email: string; password: string; subdomain?: string },
) {
  const answer = await service.call('POST', '/api/auth/login', { body: credentials })
  if (answer.status !== 200)
    throw new Error(`sign-in answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** The bootstrap superadmin, signed in. */
export async function superadmin(service: Service): Promise<Person> {
  const tokens = await signIn(service, { ...SUPERADMIN, subdomain: 'platform' })
  return personOf(tokens, SUPERADMIN)
}

/** Makes a tenant with a department and one user of each role, all signed in. */
export async function makeClinic(
  service: Service,
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
  const people = await Promise.all(
    STAFF.map(async (role) => {
      const email = `${role}@${subdomain}.test`
      await create('/api/admin/users', {
        email,
        password: PASSWORD,
        full_name: `${role} of ${subdomain}`,
        role,
        tenant_id: tenant.id,
        department_id: department.id,
      })
      const tokens = await signIn(service, { email, password: PASSWORD, subdomain })
      return [role, personOf(tokens, { email, password: PASSWORD })] as const
    }),
  )
  return {
    id: tenant.id,
    subdomain,
    departmentId: department.id,
    people: Object.fromEntries(people) as Clinic['people'],
  }
}

/** The token of somebody who may call the operation: the superadmin's where it will do. */
export function tokenFor(
  { access: { roles } }: { access: { roles: readonly Role[] | null } },
  root: Person,
  { people }: Clinic,
): string {
  if (!roles || roles.includes('superadmin')) return root.token
  const [role] = roles as readonly (keyof Clinic['people'])[]
  return people[role as keyof Clinic['people']].token
}

/** Somebody as their sign-in was answered. */
export function personOf(
  tokens: {
    user_id: number
    tenant_id: number
    role: Role
    access_token: string
    refresh_token: string
  },
  known: { email: string; password: string },
): Person {
  return {
    ...known,
    id: tokens.user_id,
    tenant_id: tokens.tenant_id,
    role: tokens.role,
    token: tokens.access_token,
    refresh: tokens.refresh_token,
  }
}
