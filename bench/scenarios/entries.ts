/** The disk space of a journal entry with its indexes, as commands write them. */
import { rm } from 'node:fs/promises'
import pg from 'pg'
import { userId } from '../seed/people.ts'
import { seed } from '../seed/seed.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { ownerOf, type SignedIn, startService } from '../service.ts'
import type { Scenario } from './scenario.ts'

/** The bytes measured with this scenario at commit 0772674, when the journal had nine indexes. */
const REFERENCE_BYTES = 828
const AIM = 0.7

/** The clinics, one for each concurrent caller. The journal starts empty, so that pages fill naturally. */
const SIZE = { tenants: 32, usersPerTenant: 100, entriesPerTenant: 0 }
/** The repetitions of the following work in each clinic: 16,000 entries in total. */
const TURNS = 25
const REFRESHES = 15
const CHANGES = 4

/** A browser's user agent, which every entry stores. */
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

const WEIGHT = `
  select sum(pg_total_relation_size(relid))::float8 as bytes,
    (select count(*)::float8 from journal) as entries
  from pg_partition_tree('journal') where isleaf`

export const entries: Scenario = async (environment, _pace, say) => {
  const folder = environment.emptyFolder()
  let service = await startService(folder)
  const database = new pg.Client(ownerOf(folder))
  try {
    await seed(ownerOf(folder), SIZE, (what) => say(`seeding the clinics: ${what}`))
    // Restarts the service, because its cached data are older than the seeding.
    await service.stop()
    service = await startService(folder)
    await database.connect()
    const weigh = async () => (await database.query(WEIGHT)).rows[0]
    const before = await weigh()
    const { url } = service
    await Promise.all(Array.from({ length: SIZE.tenants }, (_, clinic) => work(url, clinic)))
    const after = await weigh()
    const count = after.entries - before.entries
    const each = (after.bytes - before.bytes) / count
    return [
      {
        name: `an entry of the journal on disk, of ${count.toLocaleString('en-US')}`,
        ours: `${each.toFixed(0)} bytes`,
        limit: `${REFERENCE_BYTES} bytes`,
        ratio: each / REFERENCE_BYTES,
        aim: { atMost: AIM },
      },
    ]
  } finally {
    await database.end()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Does the work of one clinic: its admin signs in, refreshes the session and changes users. */
async function work(url: string, clinic: number): Promise<void> {
  const credentials = {
    email: emailOf(clinic, 0),
    password: PASSWORD,
    subdomain: subdomainOf(clinic),
  }
  for (let turn = 0; turn < TURNS; turn += 1) {
    let session = await send<SignedIn>(`${url}/api/auth/login`, 'POST', credentials)
    for (let times = 0; times < REFRESHES; times += 1)
      session = await send(`${url}/api/auth/refresh`, 'POST', {
        refresh_token: session.refresh_token,
      })
    for (let times = 0; times < CHANGES; times += 1) {
      const user = userId(SIZE, clinic, 1 + ((turn * CHANGES + times) % (SIZE.usersPerTenant - 1)))
      const change = { full_name: `Ada Vogel-Nguyen ${turn}` }
      await send(`${url}/api/admin/users/${user}`, 'PUT', change, session.access_token)
    }
  }
}

async function send<A>(url: string, method: string, body: object, token?: string): Promise<A> {
  const response = await fetch(url, {
    method,
    headers: {
      'content-type': 'application/json',
      'user-agent': BROWSER,
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as A
}
