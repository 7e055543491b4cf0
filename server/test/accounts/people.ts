/** Helpers that create self-registered users and use mailed links. Each test calls from its own IP address. */
import { createHash } from 'node:crypto'
import type { Config } from '../../src/config/config.ts'
import { fresh } from '../sessions/users.ts'
import { PASSWORD } from '../support/clinics.ts'
import { confirmAddress } from '../support/people.ts'
import type { Answer, CallOptions, Service } from '../support/service.ts'

/** Runs the service behind one proxy, so that a test can choose the caller's IP address. */
export const PROXIED: Partial<Config> = { TRUSTED_PROXIES: 1 }

export const LINK_EXPIRED = { code: 'link_expired' }

let callers = 0

/** Returns an IP address that no other call in this test file uses. */
export function newAddress(): string {
  callers += 1
  return `10.${callers >> 16}.${(callers >> 8) & 255}.${callers & 255}`
}

/** Posts from the given IP address, or from a new one that no throttle has counted yet. */
export function post<T = any>(
  service: Service,
  path: string,
  { from = newAddress(), headers = {}, ...options }: CallOptions & { from?: string } = {},
): Promise<Answer<T>> {
  const forwarded = { 'x-forwarded-for': from, ...headers }
  return service.call('POST', path, { ...options, headers: forwarded })
}

/** The body of a registration. */
export function form(subdomain: string, overrides: object = {}) {
  return {
    email: `${fresh('self')}@${subdomain}.test`,
    password: PASSWORD,
    full_name: 'Anna Nováková',
    role: 'nurse',
    subdomain,
    ...overrides,
  }
}

export async function register(service: Service, subdomain: string, overrides: object = {}) {
  const answer = await post(service, '/api/auth/register', { body: form(subdomain, overrides) })
  if (answer.status !== 201) throw new Error(`register answered ${JSON.stringify(answer.body)}`)
  return answer.body as { id: number; email: string; tenant_id: number }
}

/** Registers a person and confirms their address. */
export async function registerConfirmed(service: Service, subdomain: string) {
  const made = await register(service, subdomain)
  await confirmAddress(service, made.id)
  return made
}

/** Creates a tenant with one department and the given settings. */
export async function newTenant(service: Service, token: string, settings: object) {
  const subdomain = fresh('tenant')
  const tenant = await service.call('POST', '/api/admin/tenants', {
    token,
    body: { name: `Clinic ${subdomain}`, subdomain, settings },
  })
  const department = await service.call('POST', '/api/admin/departments', {
    token,
    body: { name: 'Surgery', tenant_id: tenant.body.id },
  })
  if (tenant.status !== 201 || department.status !== 201)
    throw new Error(`no tenant was made: ${JSON.stringify([tenant.body, department.body])}`)
  return { id: tenant.body.id as number, subdomain, departmentId: department.body.id as number }
}

export const login = (
  service: Service,
  email: string,
  subdomain: string | undefined,
  password = PASSWORD,
): Promise<Answer> => post(service, '/api/auth/login', { body: { email, password, subdomain } })

/** Confirms an address. Sends a body as the page does, or no body as the specification allows. */
export const verifyEmail = (service: Service, token: string, body?: unknown): Promise<Answer> =>
  post(service, '/api/auth/verify-email', { query: { token }, body })

export const resetPassword = (
  service: Service,
  token: string,
  new_password = 'renewed-Horse-5',
): Promise<Answer> => post(service, '/api/auth/reset-password', { body: { token, new_password } })

/** Requests a link; `which` is `request-reset` or `resend-verification`. */
export const askForLink = (
  service: Service,
  which: 'request-reset' | 'resend-verification',
  email: string,
  subdomain?: string,
): Promise<Answer> => post(service, `/api/auth/${which}`, { body: { email, subdomain } })

/** Returns the journal's actions about a user, oldest first. */
export async function actionsAbout(service: Service, userId: number): Promise<string[]> {
  const rows = await service.database.sql<{ action: string }>(
    `select action from journal where resource_type = 'user' and resource_id = $1 order by id`,
    [String(userId)],
  )
  return rows.map(({ action }) => action)
}

/** Returns a well-formed token that the service never issued. */
export function inventedToken(tenantId: number): string {
  return `${tenantId}.${createHash('sha256').update(fresh('token')).digest('base64url')}`
}
