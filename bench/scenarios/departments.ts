/** Commands that add departments: each is one transaction that writes one journal entry. */
import { drive } from '../measure/load.ts'
import { PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { signIn } from '../service.ts'
import { makeClinics } from './clinics.ts'

export const DEPARTMENTS_PATH = '/api/admin/departments'

/** Creates the clinics. Returns the headers of their administrators. */
export async function signInAdmins(
  url: string,
  clinics: number,
): Promise<Record<string, string>[]> {
  await makeClinics(url, clinics, [], '*')
  const admins = Array.from({ length: clinics }, async (_, clinic) => {
    const subdomain = subdomainOf(clinic)
    const admin = await signIn(url, `admin@${subdomain}.example`, PASSWORD, subdomain)
    return {
      authorization: `Bearer ${admin.access_token}`,
      'content-type': 'application/json',
    }
  })
  return Promise.all(admins)
}

let made = 0

/** Returns the body of a request for a department with an unused name. */
export function newDepartment(): string {
  made += 1
  return JSON.stringify({ name: `Ward ${made}` })
}

export interface DepartmentLoad {
  url: string
  callers: Record<string, string>[]
  connections: number
  seconds: number
}

/** Adds departments, one at a time on each connection. Returns how many per second. */
export const addDepartments = (load: DepartmentLoad): Promise<number> =>
  drive({
    ...load,
    request: {
      method: 'POST',
      path: DEPARTMENTS_PATH,
      setupRequest: (request) => ({ ...request, body: newDepartment() }),
    },
  })
