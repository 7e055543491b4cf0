/** Self-healing in a large deployment: the database time of a scan, and its effect on others. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Deployment } from '../environment.ts'
import { othersThan } from '../measure/answers.ts'
import { atABeat } from '../measure/beat.ts'
import type { Pace } from '../measure/compare.ts'
import { residentMb } from '../measure/process.ts'
import { median, percentile } from '../measure/statistics.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { admit } from './admissions.ts'
import { callersOf } from './lists.ts'
import { openScans, type Scans } from './scans.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'
import { call, superadminOf } from './ward.ts'

/** The patients of each clinic: 100,000 in total with 1,000 clinics. */
const PATIENTS_EACH = 100
const LIMIT_S = 5
const SCANS = 10
/** The number of scans in six hours of the service's own schedule. */
const SCANS_OF_HOURS = 72
/** An idle session of PostgreSQL reports its statistics within ten seconds. */
const TOLD_WITHIN_MS = 11_000
/** The seconds of reads per measurement. Longer than a scan, which pauses between its checks. */
const READ_FOR = 12
const REST_MS = 5_000

export const selfHealing: Scenario = async (environment, pace, say) => {
  const deployment = await environment.deployment('large')
  say(`self-healing: ${PATIENTS_EACH} patients for each clinic`)
  await admit(deployment, PATIENTS_EACH)
  const scans = await openScans(deployment.database)
  try {
    // Compiles code and fills caches.
    await scans.run(2)
    const cost = await costLine(deployment, scans, pace)
    await allLooked(deployment)
    const headers = await callersOf(deployment, 'auditor')
    const profile = { name: 'profile', path: '/api/users/me' }
    const list = { name: 'a list of users', path: '/api/admin/users?sort_by=full_name' }
    const lines = [cost]
    for (const read of [profile, list])
      lines.push(await besideLine(deployment, scans, { ...read, headers }, pace, say))
    lines.push(await memoryLine(deployment, scans, pace))
    return lines
  } finally {
    await scans.close()
  }
}

/** @throws Error when the last scan skipped a check, so that its figures would be too low */
async function allLooked({ service }: Deployment): Promise<void> {
  const root = await superadminOf(service)
  const path = '/api/admin/self-healing/stats'
  const { total, last_scan } = await call(service, root, 'GET', path)
  if (last_scan.unknown > 0 || last_scan.looked_at < total)
    throw new Error(`of ${total} faults a scan has left out some: ${JSON.stringify(last_scan)}`)
}

/** Measures the database time of a scan, minus the service's other statements in the same period. */
async function costLine({ database }: Deployment, scans: Scans, { share }: Pace): Promise<Line> {
  const client = new pg.Client(database)
  await client.connect()
  const active = async (): Promise<number> => {
    await delay(TOLD_WITHIN_MS)
    const { rows } = await client.query(
      'select active_time / 1000 as seconds from pg_stat_database where datname = current_database()',
    )
    return rows[0].seconds
  }
  try {
    const count = Math.max(2, SCANS * share)
    const first = await active()
    const took = await scans.run(count)
    const second = await active()
    await delay(took * 1000)
    const idle = (await active()) - second
    const seconds = (second - first - idle) / count
    return {
      name: 'a scan, seconds of the database',
      ours: `${seconds.toFixed(2)} s`,
      limit: `${LIMIT_S} s`,
      ratio: seconds / LIMIT_S,
      aim: { atMost: 1 },
    }
  } finally {
    await client.end()
  }
}

interface Read {
  name: string
  path: string
  headers: Record<string, string>[]
}

/** Reads at half of the capacity, without scans and during continuous scans. */
async function besideLine(
  { service }: Deployment,
  scans: Scans,
  { name, path, headers }: Read,
  pace: Pace,
  say: (what: string) => void,
): Promise<Line> {
  const read = async (turn: number) => {
    const own = headers[turn % headers.length] ?? {}
    const response = await fetch(`${service.url}${path}`, { headers: own })
    await response.arrayBuffer()
    return response.status
  }
  await asFastAsAnswered(read)
  const half = (await asFastAsAnswered(read)) / 2
  const p99 = async (): Promise<number> => {
    const { ms, answers } = await atABeat(1000 / half, READ_FOR, read)
    if (othersThan(answers, (status) => status === 200) > 0) throw new Error('a read was refused')
    return percentile(ms, 0.99)
  }
  const rounds: { idle: number; beside: number }[] = []
  for (let round = 0; round < pace.rounds; round += 1) {
    const idleFirst = round % 2 === 0
    const before = idleFirst ? await p99() : 0
    const { done, result: beside } = await scans.beside(p99)
    rounds.push({ idle: idleFirst ? before : await p99(), beside })
    say(`self-healing: ${name}, ${perSecond(half)} beside ${perSecond(done / READ_FOR)} scans`)
  }
  const of = (which: 'idle' | 'beside') => median(rounds.map((round) => round[which])).toFixed(1)
  return {
    name: `${name} at half load beside scans, p99`,
    ours: `${of('beside')} ms`,
    limit: `${of('idle')} ms idle`,
    ratio: median(rounds.map(({ idle, beside }) => beside / idle)),
    aim: { atMost: 1.2 },
  }
}

/**
 * Sends calls over as many connections as other scenarios, each after the previous response. Returns calls per second.
 */
async function asFastAsAnswered(read: (turn: number) => Promise<number>): Promise<number> {
  const seconds = 2
  const until = performance.now() + seconds * 1000
  let turn = 0
  const lane = async () => {
    while (performance.now() < until) {
      turn += 1
      await read(turn)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  return turn / seconds
}

async function memoryLine({ service }: Deployment, scans: Scans, { share }: Pace): Promise<Line> {
  const count = Math.ceil(SCANS_OF_HOURS * share)
  // Lets the heap grow to the size that scans need, and release the memory of earlier reads.
  await scans.run(Math.ceil(count / 4))
  await delay(REST_MS)
  const before = residentMb(service.pid)
  await scans.run(count)
  await delay(REST_MS)
  const after = residentMb(service.pid)
  return {
    name: `resident memory after ${count} scans`,
    ours: `${after.toFixed(0)} MB`,
    limit: `${before.toFixed(0)} MB before`,
    ratio: after / before,
    aim: { atMost: 1.1 },
  }
}
