/** A clinic with many patients, created through the API, and reads of its patients. */
import { drive } from '../measure/load.ts'
import { FAMILY, GIVEN } from '../seed/names.ts'
import { type Service, SUPERADMIN, signIn, startService } from '../service.ts'
import { CONNECTIONS } from './scenario.ts'

const CLINIC = 'ward'
const PASSWORD = 'bench: quiet harbour 41'
/** Each caller sends two requests at the same time, because the service limits one caller's long requests. */
const CALLERS = CONNECTIONS / 2

type Headers = Record<string, string>

/** A clinic on a running service, with its admins signed in. */
export interface Ward {
  service: Service
  headers: Headers
  callers: Headers[]
  me: { id: number; tenant_id: number }
}

/** Starts a service on a data folder, creates a clinic and its patients, and stops it. Returns the patients' ids. */
export async function makePatients(folder: string, count: number): Promise<number[]> {
  const service = await startService(folder)
  try {
    return await furnish(await makeWard(service), count)
  } finally {
    await service.stop()
  }
}

/** Creates the clinic and its admins. */
export async function makeWard(service: Service): Promise<Ward> {
  const root = await superadminOf(service)
  const tenant = { name: 'Ward', subdomain: CLINIC }
  const { id: tenant_id } = await call(service, root, 'POST', '/api/admin/tenants', tenant)
  for (let made = 0; made < CALLERS; made += 1) {
    const admin = { email: emailOf(made), password: PASSWORD, full_name: 'Ada', role: 'admin' }
    await call(service, root, 'POST', '/api/admin/users', { ...admin, tenant_id })
  }
  return wardOn(service)
}

/**
 * Creates patients of the clinic. Returns their ids.
 * @param besides additional fields of a patient
 * @param first the number of the first patient
 */
export async function furnish(
  { service, callers }: Ward,
  count: number,
  besides: (number: number) => object = () => ({}),
  first = 1,
): Promise<number[]> {
  const ids: number[] = []
  let made = first - 1
  const lane = async (headers: Headers) => {
    while (made < first - 1 + count) {
      made += 1
      const body = { ...patientOf(made), ...besides(made) }
      ids.push((await call(service, headers, 'POST', '/api/patients', body)).id)
    }
  }
  await Promise.all([...callers, ...callers].map(lane))
  return ids
}

export const nameOf = (number: number) =>
  `${GIVEN[number % GIVEN.length]} ${FAMILY[number % FAMILY.length]} ${number}`

export function patientOf(number: number) {
  return {
    full_name: nameOf(number),
    birth_date: '1961-05-14',
    sex: 'female',
    identifiers: [{ system: 'insurer', value: `A${number}` }],
    phone: '+46 8 555 0101',
    email: `patient${number}@patients.example`,
    address: 'Long Street 12, 111 22 Old Town',
    allergies: ['penicillin'],
    notes: 'Comes in spring and autumn. '.repeat(8),
  }
}

/** The lengths of a patient's encrypted fields. */
export const SEALED_LENGTHS = Object.values(patientOf(0)).map(
  (value) => JSON.stringify(value).length,
)

export async function wardOn(service: Service): Promise<Ward> {
  const callers: Headers[] = []
  for (let made = 0; made < CALLERS; made += 1) {
    const { access_token } = await signIn(service.url, emailOf(made), PASSWORD, CLINIC)
    callers.push(headersOf(access_token))
  }
  const headers = callers[0] ?? {}
  return { service, headers, callers, me: await call(service, headers, 'GET', '/api/users/me') }
}

const emailOf = (number: number) => `admin${number}@ward.example`

export async function superadminOf({ url }: Service): Promise<Headers> {
  const { email, password } = SUPERADMIN
  return headersOf((await signIn(url, email, password, 'platform')).access_token)
}

const headersOf = (token: string) => ({ authorization: `Bearer ${token}` })

/** Returns a contender that reads one patient after the other. */
export function reads(url: string, ids: readonly number[], headers?: Headers) {
  let turn = 0
  const next = () => {
    turn += 1
    return `/api/patients/${ids[turn % ids.length]}`
  }
  return (seconds: number) =>
    drive({
      url,
      connections: CONNECTIONS,
      seconds,
      ...(headers ? { headers } : {}),
      request: { method: 'GET', setupRequest: (request) => ({ ...request, path: next() }) },
    })
}

/** Sends a request. @throws Error if the response is not a 2xx */
export async function call(
  { url }: Service,
  headers: Headers,
  method: string,
  path: string,
  body?: object,
) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  // biome-ignore lint/suspicious/noExplicitAny: each operation has a response type of its own, and callers read one field
  return (await response.json()) as any
}
