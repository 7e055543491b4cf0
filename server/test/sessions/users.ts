/** Creates users for a single test. The test can sign them in, change and delete them without affecting other tests. */
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Role } from '../../src/lib/roles.ts'
import { type Clinic, PASSWORD, type Person, signIn } from '../support/clinics.ts'
import { confirmAddress } from '../support/people.ts'
import type { Answer, Service } from '../support/service.ts'

let made = 0

/** Returns a name that no other user, tenant or department in this test file has. */
export function fresh(word: string): string {
  made += 1
  return `${word}-${made}`
}

/** Creates a user and signs the user in. The user belongs to the clinic, or to `tenantId` if given. */
export async function newPerson(
  service: Service,
  by: Person,
  at: { tenantId: number; subdomain: string; role?: Role },
): Promise<Person> {
  const email = `${fresh('person')}@${at.subdomain}.test`
  const role = at.role ?? 'doctor'
  const created = await service.call('POST', '/api/admin/users', {
    token: by.token,
    body: { email, password: PASSWORD, full_name: email, role, tenant_id: at.tenantId },
  })
  if (created.status !== 201)
    throw new Error(`the user was not created: ${JSON.stringify(created.body)}`)
  await confirmAddress(service, created.body.id)
  const tokens = await signIn(service, { email, password: PASSWORD, subdomain: at.subdomain })
  return {
    id: created.body.id,
    tenant_id: at.tenantId,
    email,
    password: PASSWORD,
    role,
    token: tokens.access_token,
    refresh: tokens.refresh_token,
  }
}

/** Creates a user of a clinic as the clinic's administrator, and signs the user in. */
export function newColleague(service: Service, clinic: Clinic, role?: Role): Promise<Person> {
  const at = { tenantId: clinic.id, subdomain: clinic.subdomain, ...(role ? { role } : {}) }
  return newPerson(service, clinic.people.admin, at)
}

/** Signs the clinic's admin in again, because earlier tokens may have expired after the clock was advanced. */
export async function renewAdmin(service: Service, { people, subdomain }: Clinic): Promise<void> {
  const { email, password } = people.admin
  const { access_token } = await signIn(service, { email, password, subdomain })
  people.admin = { ...people.admin, token: access_token }
}

/** Returns the status of a read of the own profile with this token. It is 200 while the session is active. */
export async function standing(service: Service, token: string): Promise<number> {
  return (await service.call('GET', '/api/users/me', { token })).status
}

export function refresh(service: Service, refresh_token: string): Promise<Answer> {
  return service.call('POST', '/api/auth/refresh', { body: { refresh_token } })
}

/** Returns the session id of an access token. */
export function jtiOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti
}

/** Returns whether the node receives notifications, according to its health report. */
export async function hears(node: Service, token: string): Promise<boolean> {
  const { body } = await node.call('GET', '/api/admin/health', { token })
  return body.checks.changes === 'ok'
}

/** Opens a connection as the owner. The connection stays open when the database refuses new ones. */
export async function ownerConnection({ database }: Service): Promise<pg.Client> {
  const { address } = database
  const client = new pg.Client('url' in address ? { connectionString: address.url } : address)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

/** Polls until the result is as expected. @throws Error with the last result after `ms` */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  wanted: (answer: T) => boolean,
  ms = 15_000,
): Promise<T> {
  const deadline = performance.now() + ms
  for (;;) {
    const answer = await ask()
    if (wanted(answer)) return answer
    if (performance.now() > deadline)
      throw new Error(`still ${JSON.stringify(answer)} after ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
