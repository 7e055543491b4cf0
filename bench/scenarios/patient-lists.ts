/**
 * Lists and searches of patients in a large clinic, compared with the same SQL and decryption, and with a small clinic.
 */
import { rm } from 'node:fs/promises'
import pg from 'pg'
import { type Baseline, openBaseline } from '../baselines/baseline.ts'
import type { Page, Question } from '../baselines/journaled-reads.ts'
import { type Contender, compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { ownerOf, type Service, startService } from '../service.ts'
import { copyPatients } from './admissions.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'
import { call, furnish, makeWard, nameOf, SEALED_LENGTHS, type Ward, wardOn } from './ward.ts'

const SIZES = { large: 1_000_000, small: 10_000 }
/** The numbers of patients for a quick trial. */
const FEW = { large: 1_000, small: 300 }
/** Patients created through the API at both ends of the list. Only these can be decrypted, and only these are shown. */
const OPEN = 2_000
const DEPARTMENTS = 20
const LIMIT = 20

/** A clinic of one size, on a separate service. */
interface Clinic {
  folder: string
  service: Service
  ward: Ward
  count: number
  departments: number[]
}

interface Case {
  name: string
  /** The body of the search. */
  asked(clinic: Clinic): object | Promise<object>
  /** The same request in SQL, for scenarios that compare with it. */
  page?(clinic: Clinic): Promise<Page>
}

const CASES: Case[] = [
  { name: 'a page of 20', asked: () => ({}), page: async () => pageOf('true', []) },
  {
    name: "a department's page",
    asked: ({ departments }) => ({ department_id: departments[3] }),
    page: async ({ departments }) => pageOf('department_id = $2', [departments[3]]),
  },
  {
    name: 'a search that hits',
    asked: () => ({ search: nameOf(DEPARTMENTS) }),
    page: async ({ folder }) => foundBy(await someToken(folder), 1),
  },
  {
    name: 'a search that misses',
    asked: () => ({ search: 'Nobody of that name' }),
    page: async () => foundBy(Buffer.alloc(16), 0),
  },
  { name: 'after, at the far end', asked: async (clinic) => ({ after: await farEnd(clinic) }) },
]

const COLUMNS = `id, tenant_id, department_id, attending_doctor_id, version, created_at, updated_at, deleted_at,
  data_key_id, sealed_full_name, sealed_birth_date, sealed_sex, sealed_identifiers, sealed_phone,
  sealed_email, sealed_address, sealed_allergies, sealed_notes`

function pageOf(condition: string, values: unknown[], rows = LIMIT): Page {
  const from = `from patients where tenant_id = $1 and deleted_at is null and ${condition}`
  return {
    text: `select ${COLUMNS} ${from} order by id limit ${LIMIT + 1}`,
    // Counts if the list continues after the page.
    ...(rows < LIMIT ? {} : { count: `select count(*) from (select 1 ${from} limit 10001) m` }),
    values,
    rows,
  }
}

/** Searches as many tokens as the service, of which one may exist. */
function foundBy(token: Buffer, rows: number): Page {
  const tokens = [token, ...[1, 2, 3, 4].map((fill) => Buffer.alloc(16, fill))]
  const found = `id in (select patient_id from patient_tokens
    where tenant_id = $1 and token = any($2::bytea[]))`
  return pageOf(found, [tokens], rows)
}

async function someToken(folder: string): Promise<Buffer> {
  const client = new pg.Client(ownerOf(folder))
  await client.connect()
  const { rows } = await client.query('select token from patient_tokens where kind = 1 limit 1')
  await client.end()
  return rows[0].token
}

/** Returns the `after` of the last page but one, without reading all pages before it. */
async function farEnd({ ward, folder, count }: Clinic): Promise<string> {
  const body = { limit: LIMIT }
  const { next } = await call(ward.service, ward.headers, 'POST', '/api/patients/search', body)
  const client = new pg.Client(ownerOf(folder))
  await client.connect()
  const { rows } = await client.query(
    `select id::integer from patients order by id desc offset ${LIMIT} limit 1`,
  )
  await client.end()
  const [binding, , ...rest] = JSON.parse(Buffer.from(next, 'base64url').toString())
  const cursor = [binding, Math.floor(count / LIMIT), ...rest.slice(0, -1), rows[0].id]
  return Buffer.from(JSON.stringify(cursor)).toString('base64url')
}

export const patientLists: Scenario = async (environment, pace, say) => {
  const sizes = pace.rounds > 1 ? SIZES : FEW
  const open = async (count: number) => {
    say(`patient-lists: making ${count} patients`)
    return openClinic(environment.emptyFolder(), count)
  }
  const [large, small] = [await open(sizes.large), await open(sizes.small)]
  const baseline = openBaseline(new URL('../baselines/journaled-reads.ts', import.meta.url))
  const lines: Line[] = []
  try {
    for (const one of CASES) {
      say(`patient-lists: ${one.name}`)
      const ours = await contender(large, one)
      if (one.page) {
        const bare = sqlOf(baseline, large, await one.page(large))
        lines.push(lineOf(`patients, ${one.name}, against SQL`, await compare(ours, bare, pace)))
      }
      const outcome = await compare(ours, await contender(small, one), pace)
      lines.push({
        ...lineOf(`patients, ${one.name}: large against small`, outcome),
        // The ratio of the times of the large and the small clinic.
        ratio: 1 / outcome.ratio,
        aim: { atMost: 1.5 },
      })
    }
    return lines
  } finally {
    baseline.stop()
    for (const { service, folder } of [large, small]) {
      await service.stop()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

const lineOf = (name: string, outcome: Awaited<ReturnType<typeof compare>>): Line => ({
  name,
  ours: perSecond(outcome.ours),
  limit: perSecond(outcome.baseline),
  ratio: outcome.ratio,
  aim: { atLeast: 0.5 },
})

async function openClinic(folder: string, count: number): Promise<Clinic> {
  const first = await startService(folder)
  const ward = await makeWard(first)
  const departments: number[] = []
  for (let made = 0; made < DEPARTMENTS; made += 1) {
    const body = { name: `Department ${made}` }
    departments.push((await call(first, ward.headers, 'POST', '/api/admin/departments', body)).id)
  }
  const besides = (number: number) => ({ department_id: departments[number % DEPARTMENTS] })
  const open = Math.min(OPEN, Math.floor(count / 2))
  await furnish(ward, open, besides)
  await fill(folder, count - open, departments)
  await furnish(ward, open, besides, open + 1)
  await analyze(folder)
  // Restarts the service, because its cached data are outdated.
  await first.stop()
  const service = await startService(folder)
  return { folder, service, ward: await wardOn(service), count, departments }
}

/** Adds patients that are never shown, but are counted and indexed. */
async function fill(folder: string, count: number, departments: readonly number[]): Promise<void> {
  const client = new pg.Client(ownerOf(folder))
  await client.connect()
  await copyPatients(client, count, departments)
  await client.end()
  await analyze(folder)
}

async function analyze(folder: string): Promise<void> {
  const client = new pg.Client(ownerOf(folder))
  await client.connect()
  await client.query('vacuum (analyze) patients, patient_tokens')
  await client.end()
}

async function contender(clinic: Clinic, { asked }: Case): Promise<Contender> {
  const body = JSON.stringify({ limit: LIMIT, ...(await asked(clinic)) })
  const callers = clinic.ward.callers.map((headers) => ({
    ...headers,
    'content-type': 'application/json',
  }))
  const url = `${clinic.service.url}/api/patients/search`
  return (seconds) =>
    drive({ url, connections: CONNECTIONS, seconds, callers, request: { method: 'POST', body } })
}

function sqlOf(baseline: Baseline, { folder, ward }: Clinic, page: Page): Contender {
  return (seconds) =>
    baseline.ask<number>({
      database: ownerOf(folder),
      poolSize: POOL_SIZE,
      tenantId: ward.me.tenant_id,
      userId: ward.me.id,
      fields: SEALED_LENGTHS,
      ids: [1],
      page,
      atOnce: CONNECTIONS,
      seconds,
    } satisfies Question)
}
