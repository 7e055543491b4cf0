/** The requests of floods. Each request costs the service more than the sender. */
import type { Sent } from '../baselines/flooder.ts'
import { userId } from '../seed/people.ts'
import { emailOf, PASSWORD, type Size, subdomainOf } from '../seed/sizes.ts'
import { signIn } from '../service.ts'

/** The clinic that the auditor and the admin of floods belong to. */
const CLINIC = 0
const AUDITOR = 1
const JSON_BODY = { 'content-type': 'application/json' }
/** The service's limit for operations whose description names no limit. */
const USUAL_LIMIT = 1024 * 1024

/** Sign-ins with bodies as large as the operation accepts, made of many small parts. */
export async function fullSignIns(url: string): Promise<Sent[]> {
  const path = '/api/auth/login'
  const bytes = await limitOf(url, path, 'post')
  const parts = [
    ...SMALL_PARTS.map((part) => `"x":${part(bytes)}`),
    `"email":${array('{}', bytes)}`,
  ]
  return parts.map((part) => ({
    method: 'POST',
    path,
    headers: JSON_BODY,
    body: filled(bytes, part),
  }))
}

/** Preferences of the auditor: one as large as the operation accepts, and one as large as it stores. */
export async function fullPreferences(url: string): Promise<Sent[]> {
  const path = '/api/preferences'
  const limit = await limitOf(url, path, 'put')
  const headers = { ...(await as(url, AUDITOR)), ...JSON_BODY }
  return [limit, Math.min(limit, KEPT_BYTES)].flatMap((bytes) =>
    SMALL_PARTS.map((part): Sent => {
      const body = filled(bytes, `"settings":{"x":${part(bytes)}}`)
      return { method: 'PUT', path, headers, body }
    }),
  )
}
/** Preferences hold 64 KiB. A slightly smaller value is both written and read. */
const KEPT_BYTES = 60 * 1024

/** Returns the size limit of an operation's body, according to the service's description. */
async function limitOf(url: string, path: string, method: string): Promise<number> {
  const described = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { 'x-body-limit'?: number }>>
  }
  return described.paths[path]?.[method]?.['x-body-limit'] ?? USUAL_LIMIT
}

/** Many small values of this many bytes in total, in an array or under a key each. */
const SMALL_PARTS: ((bytes: number) => string)[] = [
  (bytes) => array('{}', bytes),
  (bytes) => array('0', bytes),
  (bytes) => array('""', bytes),
  keys,
]
const ROOM_AROUND = 64

function array(part: string, bytes: number): string {
  const length = Math.floor((bytes - ROOM_AROUND) / (part.length + 1))
  return `[${Array.from({ length }, () => part).join(',')}]`
}

function keys(bytes: number): string {
  let text = '"-":0'
  for (let key = 0; text.length < bytes - ROOM_AROUND; key += 1) text += `,"${key.toString(36)}":0`
  return `{${text}}`
}

/** Returns a body of exactly this many bytes. */
const filled = (bytes: number, members: string) => `{${members}}`.padEnd(bytes)

/** Sign-ins with users that do not exist, and with accounts of another clinic. */
export async function wrongSignIns(_url: string, victims: readonly string[]): Promise<Sent[]> {
  const guesses = Array.from({ length: 5000 }, (_, guess) =>
    guess % 5 === 0
      ? (victims[(guess / 5) % victims.length] as string)
      : `nobody${guess}@${subdomainOf(1)}.example`,
  )
  return guesses.map((email) => ({
    method: 'POST',
    path: '/api/auth/login',
    headers: JSON_BODY,
    body: JSON.stringify({ email, password: 'a wrong guess', subdomain: subdomainOf(1) }),
  }))
}

/** The most expensive pages: far from the start, the last allowed one, and with rare matches. */
const PAGES = [
  'audit?page=1000000&limit=100',
  'audit?page=2000&limit=100&sort_by=id',
  'audit?page=100&limit=100',
  'audit?page=100&limit=100&sort_by=id&sort_order=asc',
  `audit?page=100&limit=100&action=auth.login&from_date=2020-01-01`,
  `audit?page=1&limit=100&from_date=2020-01-01&sort_order=asc`,
  'users?page=10&limit=100&sort_by=full_name&search=an',
]

/** Pages of the audit log and of users, requested by the auditor of the clinic. */
export async function deepPages(url: string): Promise<Sent[]> {
  const headers = await as(url, AUDITOR)
  return PAGES.map((page) => ({ method: 'GET', path: `/api/admin/${page}`, headers }))
}

/** New passwords for the clinic's users, set by its admin. */
export async function passwordResets(
  url: string,
  _victims: readonly string[],
  size: Size,
): Promise<Sent[]> {
  const headers = { ...(await as(url, 0)), ...JSON_BODY }
  const body = JSON.stringify({ password: 'bench: another harbour 42' })
  return Array.from({ length: size.usersPerTenant - 2 }, (_, index) => ({
    method: 'PUT',
    path: `/api/admin/users/${userId(size, CLINIC, 2 + index)}/password`,
    headers,
    body,
  }))
}

async function as(url: string, user: number): Promise<Record<string, string>> {
  const { access_token } = await signIn(url, emailOf(CLINIC, user), PASSWORD, subdomainOf(CLINIC))
  return { authorization: `Bearer ${access_token}` }
}
