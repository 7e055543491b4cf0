/** The transparency logs of the journal: sealing a backlog, verifying an export, and proofs from a long log. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { openBaseline } from '../baselines/baseline.ts'
import type { Deployment } from '../environment.ts'
import { peakMb } from '../measure/process.ts'
import { percentile } from '../measure/statistics.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { MAIN, ownerOf, signIn, startService } from '../service.ts'
import type { Scenario } from './scenario.ts'
import { seedUnsealed } from './sealing.ts'

const TENANTS = 20
const ENTRIES = 1_000_000
const MEMORY_LIMIT_MIB = 150
/** The number of leaves that the sealer inserts in a transaction. */
const BATCH = 500
const PROOFS = 300

export const auditLog: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const file = `${folder}.jsonl`
  const entriesPerTenant = (ENTRIES * pace.share) / TENANTS
  await seedUnsealed(folder, { tenants: TENANTS, usersPerTenant: 50, entriesPerTenant }, say)
  const service = await startService(folder)
  try {
    const sealed = await sealingRate(folder, TENANTS * entriesPerTenant, say)
    const inserted = await insertRate(folder)
    return [
      {
        name: 'entries sealed from a backlog, against the insert of their leaves',
        ours: perSecond(sealed),
        limit: perSecond(inserted),
        ratio: sealed / inserted,
        aim: { atLeast: 0.4 },
      },
      ...(await verification(folder, file, say)),
    ]
  } finally {
    await service.stop()
    await rm(folder, { recursive: true, force: true })
    await rm(file, { force: true })
  }
}

const SEALED = 'select coalesce(sum(size), 0)::float8 as sealed from audit_logs'

/** Waits until the entries are sealed. Returns how many were sealed per second, from the first batch on. */
async function sealingRate(
  folder: string,
  entries: number,
  say: (what: string) => void,
): Promise<number> {
  const database = new pg.Client(ownerOf(folder))
  await database.connect()
  try {
    const sealed = async () => (await database.query(SEALED)).rows[0].sealed as number
    let first = 0
    while (first === 0) first = await sealed()
    const start = performance.now()
    say(`sealing ${entries.toLocaleString('en-US')} entries`)
    let last = first
    while (last < entries) {
      await delay(100)
      last = await sealed()
    }
    return (last - first) / ((performance.now() - start) / 1000)
  } finally {
    await database.end()
  }
}

/** Copies the leaves to an equal table, in batches of the same size. Returns how many were inserted per second. */
async function insertRate(folder: string): Promise<number> {
  const database = new pg.Client(ownerOf(folder))
  await database.connect()
  try {
    await database.query('create table bench_leaves (like audit_leaves including all)')
    const { rows } = await database.query(
      `select tenant_id, epoch, index, entry_id, created_at, who_salt, what_salt, mark
       from audit_leaves order by entry_id limit 100000`,
    )
    const start = performance.now()
    for (let at = 0; at < rows.length; at += BATCH) {
      const some = rows.slice(at, at + BATCH)
      const column = (name: string) => some.map((row) => row[name])
      await database.query(
        `insert into bench_leaves (tenant_id, epoch, index, entry_id, created_at, who_salt, what_salt, mark)
         select * from unnest($1::bigint[], $2::int[], $3::bigint[], $4::bigint[], $5::timestamptz[],
           $6::bytea[], $7::bytea[], $8::text[])`,
        [
          column('tenant_id'),
          column('epoch'),
          column('index'),
          column('entry_id'),
          column('created_at'),
          column('who_salt'),
          column('what_salt'),
          column('mark'),
        ],
      )
    }
    return rows.length / ((performance.now() - start) / 1000)
  } finally {
    await database.query('drop table if exists bench_leaves')
    await database.end()
  }
}

/** Exports the logs, and verifies the file in a process of its own. */
async function verification(
  folder: string,
  file: string,
  say: (what: string) => void,
): Promise<Line[]> {
  say('exporting')
  await run(['export', '--out', file], { DATA_DIR: folder })
  say(`verifying ${((await stat(file)).size / 1e6).toFixed(0)} MB`)
  const start = performance.now()
  const peak = await run(['verify', file])
  const seconds = (performance.now() - start) / 1000
  const baseline = openBaseline(new URL('../baselines/parse-and-hash.ts', import.meta.url))
  try {
    const parsed = await baseline.ask<number>({ file })
    const limit = (MEMORY_LIMIT_MIB * 2 ** 20) / 1e6
    return [
      {
        name: 'verifying an export, against parsing and hashing its lines',
        ours: `${seconds.toFixed(1)} s`,
        limit: `${parsed.toFixed(1)} s`,
        ratio: parsed / seconds,
        aim: { atLeast: 0.25 },
      },
      {
        name: 'memory of the verification',
        ours: `${peak.toFixed(0)} MB`,
        limit: `${limit.toFixed(0)} MB`,
        ratio: peak / limit,
        aim: { atMost: 1 },
      },
    ]
  } finally {
    baseline.stop()
  }
}

/** Runs `wardkeep audit`. Returns its largest resident memory in MB. */
async function run(args: readonly string[], env: Record<string, string> = {}): Promise<number> {
  const child = spawn(process.execPath, [MAIN, 'audit', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  })
  const peak = await peakMb(child.pid as number, () => once(child, 'exit'))
  if (child.exitCode !== 0)
    throw new Error(`wardkeep audit ${args[0]} ended with ${child.exitCode}`)
  return peak
}

/** Compares proofs from logs of 500,000 entries with proofs from logs of 5,000. */
export const auditProofs: Scenario = async (environment, pace, say) => {
  const times: number[] = []
  for (const scale of ['crowded', 'small'] as const) {
    const deployment = await environment.deployment(scale)
    const { url } = deployment.service
    const { access_token } = await signIn(url, emailOf(1, 0), PASSWORD, subdomainOf(1))
    const headers = { authorization: `Bearer ${access_token}` }
    const ids = await sealedEntries(deployment, Math.max(40, PROOFS * pace.share), say)
    const taken: number[] = []
    for (const id of ids) {
      const start = performance.now()
      const response = await fetch(`${url}/api/admin/audit/proof/${id}`, { headers })
      const text = await response.text()
      if (!response.ok) throw new Error(`a proof: ${response.status}: ${text}`)
      taken.push(performance.now() - start)
    }
    times.push(percentile(taken, 0.5))
  }
  const [long = 0, short = 0] = times
  return [
    {
      name: 'a proof from a log a hundred times as long, p50',
      ours: `${long.toFixed(1)} ms`,
      limit: `${short.toFixed(1)} ms`,
      ratio: long / short,
      aim: { atMost: 1.5 },
    },
  ]
}

/** Waits until all entries are sealed. Returns entries of the tenant of the callers, all over its log. */
async function sealedEntries(
  { database }: Deployment,
  count: number,
  say: (what: string) => void,
): Promise<number[]> {
  const client = new pg.Client(database)
  await client.connect()
  try {
    const isSealed = `select (select count(*) from journal) <= (select sum(size) from audit_logs) as all`
    say('waiting until all entries are sealed')
    while ((await client.query(isSealed)).rows[0].all !== true) await delay(1_000)
    const { rows } = await client.query(
      `select entry_id::float8 as id from audit_leaves
       where tenant_id = (select id from tenants where subdomain = $1)
       order by md5(entry_id::text) limit $2`,
      [subdomainOf(1), count],
    )
    return rows.map(({ id }) => id)
  } finally {
    await client.end()
  }
}
