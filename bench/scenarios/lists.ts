/** The pages of list scenarios, and their callers. */

import type { Deployment } from '../environment.ts'
import type { Contender } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { SUPERADMIN, signIn } from '../service.ts'
import { CONNECTIONS } from './scenario.ts'

export type As = 'admin' | 'auditor' | 'superadmin'

/** The tenant of the auditors, which every size of database has. */
export const TENANT = 3

/** The number of pages of 100 before a far page. */
const PAGES_BEFORE = 40

/** Each caller sends two list requests at the same time, because the service limits one caller's lists. */
const CALLERS = CONNECTIONS / 2

/** Returns a contender that requests one page repeatedly. */
export async function pageOf(deployment: Deployment, as: As, path: string): Promise<Contender> {
  return get(deployment.service.url, path, await callersOf(deployment, as))
}

/** Like `pageOf`, for the page after the first 4,000 rows of the list, requested by key. */
export async function pageBehind(deployment: Deployment, as: As, path: string): Promise<Contender> {
  const { url } = deployment.service
  const callers = await callersOf(deployment, as)
  const before = await fetch(`${url}${path}page=${PAGES_BEFORE}&limit=100`, {
    headers: callers[0] ?? {},
  })
  const { next } = (await before.json()) as { next: string | null }
  if (!next) throw new Error(`${path} ends before its page ${PAGES_BEFORE}: ${before.status}`)
  return get(url, `${path}after=${encodeURIComponent(next)}`, callers)
}

type Headers = Record<string, string>

export async function callersOf({ service: { url } }: Deployment, as: As): Promise<Headers[]> {
  if (as === 'superadmin') await makeSuperadmins(url)
  const callers: Headers[] = []
  for (let place = 1; place <= CALLERS; place += 1) {
    // A tenant has one admin.
    const user = as === 'admin' ? 0 : place
    const { access_token } = await (as !== 'superadmin'
      ? signIn(url, emailOf(TENANT, user), PASSWORD, subdomainOf(TENANT))
      : signIn(url, superadminOf(place), PASSWORD, 'platform'))
    callers.push({ authorization: `Bearer ${access_token}` })
  }
  return callers
}

const superadminOf = (place: number) => `operator${place}@bench.example`

/** Creates superadmins in addition to the first one, or reuses those of an earlier run. */
async function makeSuperadmins(url: string): Promise<void> {
  const { access_token } = await signIn(url, SUPERADMIN.email, SUPERADMIN.password, 'platform')
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const me = await (await fetch(`${url}/api/users/me`, { headers })).json()
  const { tenant_id } = me as { tenant_id: number }
  for (let place = 1; place <= CALLERS; place += 1) {
    const email = superadminOf(place)
    const body = { email, password: PASSWORD, full_name: 'Olga', role: 'superadmin', tenant_id }
    const { status } = await fetch(`${url}/api/admin/users`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (status !== 201 && status !== 409) throw new Error(`${email} can't be made: ${status}`)
  }
}

function get(url: string, path: string, callers: Headers[]): Contender {
  return (seconds) => drive({ url: `${url}${path}`, connections: CONNECTIONS, seconds, callers })
}
