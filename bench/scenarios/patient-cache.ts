/** Reads of patients from the cache and without it, and the memory of 100,000 cached patients. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type Baseline, openBaseline } from '../baselines/baseline.ts'
import type { Question } from '../baselines/journaled-reads.ts'
import { compare, type Pace } from '../measure/compare.ts'
import { residentMb } from '../measure/process.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { ownerOf, type Settings, startService } from '../service.ts'
import { CONNECTIONS, POOL_SIZE, type Scenario } from './scenario.ts'
import { call, makePatients, reads, SEALED_LENGTHS, type Ward, wardOn } from './ward.ts'

const WARMED_AT_ONCE = 1_000
/** The wait for the heap to settle: V8 releases unused memory some ten seconds after the work. */
const REST_MS = 20_000

export const patientCache: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const count = pace.rounds > 1 ? 100_000 : 5_000
  try {
    say(`patient-cache: making ${count} patients`)
    const ids = await makePatients(folder, count)
    const onNode = async (
      settings: Settings,
      work: (clinic: Ward, run: Run) => Promise<Line[]>,
    ) => {
      const service = await startService(folder, settings)
      const baseline = openBaseline(new URL('../baselines/journaled-reads.ts', import.meta.url))
      try {
        return await work(await wardOn(service), { folder, ids, baseline, pace })
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

/** Compares the growth of the process with the size in its stats. */
async function grown({ service, headers }: Ward, ids: readonly number[]): Promise<Line> {
  const warm = (patient_ids: readonly number[]) =>
    call(service, headers, 'POST', '/api/admin/cache/warmup', { patient_ids })
  // Compiles code, and lets the heap grow to the size that the work needs.
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

async function hits(clinic: Ward, run: Run): Promise<Line> {
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

async function misses(clinic: Ward, run: Run): Promise<Line> {
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

function questionOf({ me }: Ward, { folder, ids }: Run): Question {
  return {
    database: ownerOf(folder),
    poolSize: POOL_SIZE,
    tenantId: me.tenant_id,
    userId: me.id,
    fields: SEALED_LENGTHS,
    ids,
    atOnce: CONNECTIONS,
    seconds: 0,
  }
}
