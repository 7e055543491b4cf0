/** Reads of patients from the cache and past it, and what it takes to hold 100,000 of them. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Baseline, openBaseline } from '../baselines/baseline.ts'
import type { Question } from '../baselines/journaled-reads.ts'
import { compare, type Pace } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { residentMb } from '../measure/process.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { FAMILY, GIVEN } from '../seed/names.ts'
import {
  ownerOf,
  type Service,
  type Settings,
  SUPERADMIN,
  signIn,
  startService,
} from '../service.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'

const CLINIC = 'ward'
const ADMIN = { email: 'admin@ward.example', password: 'bench: quiet harbour 41' }
const WARMED_AT_ONCE = 1_000
/** The heap comes to rest. */
const REST_MS = 5_000

/** A clinic's admin, signed in on a node. */
interface Clinic {
  service: Service
  headers: Record<string, string>
  me: { id: number; tenant_id: number }
}

export const patientCache: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const count = pace.rounds > 1 ? 100_000 : 5_000
  try {
    say(`patient-cache: making ${count} patients`)
    const ids = await makePatients(folder, count)
    const onNode = async (
      settings: Settings,
      work: (clinic: Clinic, run: Run) => Promise<Line[]>,
    ) => {
      const service = await startService(folder, settings)
      const baseline = openBaseline(new URL('../baselines/journaled-reads.ts', import.meta.url))
      try {
        return await work(await clinicOn(service), { folder, ids, baseline, pace })
      } finally {
        baseline.stop()
        await service.stop()
      }
    }
    const held = await onNode({}, async (clinic, run) => [
      await grown(clinic, ids),
      await hits(clinic, run),
    ])
    const NO_CACHE = { PATIENT_CACHE_MAX_ENTRIES: '0' }
    return [...held, ...(await onNode(NO_CACHE, async (...given) => [await misses(...given)]))]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

interface Run {
  folder: string
  ids: number[]
  baseline: Baseline
  pace: Pace
}

/** What the process grows by, against what its stats tell. */
async function grown({ service, headers }: Clinic, ids: readonly number[]): Promise<Line> {
  const warm = (patient_ids: readonly number[]) =>
    call(service, headers, 'POST', '/api/admin/cache/warmup', { patient_ids })
  // Code is compiled, and the heap has the room that the work itself needs.
  for (let round = 0; round < 5; round += 1) {
    await warm(ids.slice(0, WARMED_AT_ONCE))
    await call(service, headers, 'POST', '/api/admin/cache/invalidate', { all: true })
  }
  await delay(REST_MS)
  const before = residentMb(service.pid)
  for (let at = 0; at < ids.length; at += WARMED_AT_ONCE)
    await warm(ids.slice(at, at + WARMED_AT_ONCE))
  await delay(REST_MS)
  const growth = residentMb(service.pid) - before
  const { entries, bytes } = await call(service, headers, 'GET', '/api/admin/cache/stats')
  const told = (bytes as number) / 1e6
  return {
    name: `resident growth for ${entries} cached patients`,
    ours: `${growth.toFixed(0)} MB`,
    limit: `${told.toFixed(0)} MB of stats`,
    ratio: growth / told,
    aim: { atMost: 2 },
  }
}

async function hits(clinic: Clinic, run: Run): Promise<Line> {
  const { service, headers } = clinic
  const body = await call(service, headers, 'GET', `/api/patients/${run.ids[0]}`)
  const bare = await run.baseline.ask<string>({ ...questionOf(clinic, run), body })
  const outcome = await compare(
    reads(service.url, run.ids, headers),
    reads(bare, run.ids),
    run.pace,
  )
  return {
    name: 'cached read, journaled, against a bare route with the same commits',
    ours: perSecond(outcome.ours),
    limit: perSecond(outcome.baseline),
    ratio: outcome.ratio,
    aim: { atLeast: 0.5 },
  }
}

async function misses(clinic: Clinic, run: Run): Promise<Line> {
  const { service, headers } = clinic
  const outcome = await compare(
    reads(service.url, run.ids, headers),
    (seconds) => run.baseline.ask<number>({ ...questionOf(clinic, run), seconds }),
    run.pace,
  )
  return {
    name: 'read on a miss, against the same SQL, opening and commits',
    ours: perSecond(outcome.ours),
    limit: perSecond(outcome.baseline),
    ratio: outcome.ratio,
    aim: { atLeast: 0.5 },
  }
}

function questionOf({ me }: Clinic, { folder, ids }: Run): Question {
  const patient = patientOf(0)
  return {
    database: ownerOf(folder),
    poolSize: POOL_SIZE,
    tenantId: me.tenant_id,
    userId: me.id,
    fields: Object.values(patient).map((value) => JSON.stringify(value).length),
    ids,
    atOnce: CONNECTIONS,
    seconds: 0,
  }
}

function reads(url: string, ids: readonly number[], headers?: Record<string, string>) {
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

/** Makes a clinic and its patients. Returns their ids. */
async function makePatients(folder: string, count: number): Promise<number[]> {
  const service = await startService(folder)
  try {
    const { access_token } = await signIn(
      service.url,
      SUPERADMIN.email,
      SUPERADMIN.password,
      'platform',
    )
    const root = headersOf(access_token)
    const tenant = { name: 'Ward', subdomain: CLINIC }
    const { id } = await call(service, root, 'POST', '/api/admin/tenants', tenant)
    const admin = { ...ADMIN, full_name: 'Ada', role: 'admin', tenant_id: id }
    await call(service, root, 'POST', '/api/admin/users', admin)
    const { headers } = await clinicOn(service)
    const ids: number[] = []
    let made = 0
    const lane = async () => {
      while (made < count) {
        made += 1
        const patient = await call(service, headers, 'POST', '/api/patients', patientOf(made))
        ids.push(patient.id)
      }
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, lane))
    return ids
  } finally {
    await service.stop()
  }
}

function patientOf(number: number) {
  const name = `${GIVEN[number % GIVEN.length]} ${FAMILY[number % FAMILY.length]} ${number}`
  return {
    full_name: name,
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

async function clinicOn(service: Service): Promise<Clinic> {
  const { access_token } = await signIn(service.url, ADMIN.email, ADMIN.password, CLINIC)
  const headers = headersOf(access_token)
  return { service, headers, me: await call(service, headers, 'GET', '/api/users/me') }
}

const headersOf = (token: string) => ({ authorization: `Bearer ${token}` })

/** @throws Error for another answer than 2xx */
async function call(
  { url }: Service,
  headers: Record<string, string>,
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
  // biome-ignore lint/suspicious/noExplicitAny: answers of several operations
  return (await response.json()) as any
}
