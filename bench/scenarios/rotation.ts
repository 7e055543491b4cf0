/** A rotation of keys: records per second compared with a bare loop, and the effect on reads. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { openBaseline } from '../baselines/baseline.ts'
import type { Question } from '../baselines/sealing-loop.ts'
import { othersThan } from '../measure/answers.ts'
import { atABeat } from '../measure/beat.ts'
import { median, percentile } from '../measure/statistics.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { byTurns, timesAsFast } from '../measure/turns.ts'
import { ownerOf, startService } from '../service.ts'
import type { Scenario } from './scenario.ts'
import {
  call,
  makePatients,
  reads,
  SEALED_LENGTHS,
  superadminOf,
  type Ward,
  wardOn,
} from './ward.ts'

const PATIENTS = 40_000
/** The service's batch size. */
const BATCH = 50
const LOOK_MS = 100
/** Seconds of reads per measurement. */
const READ_FOR = 6

export const rotation: Scenario = async (environment, pace, say) => {
  const folder = environment.emptyFolder()
  const count = Math.round(PATIENTS * pace.share)
  say(`rotation: making ${count} patients`)
  const ids = await makePatients(folder, count)
  const service = await startService(folder)
  const baseline = openBaseline(new URL('../baselines/sealing-loop.ts', import.meta.url))
  try {
    const ward = await wardOn(service)
    const root = await superadminOf(service)
    const loop = () =>
      baseline.ask<number>({
        database: ownerOf(folder),
        fields: SEALED_LENGTHS,
        batch: BATCH,
      } satisfies Question)
    const rounds: { ours: number; loop: number }[] = []
    // The first round of each contender is a warm-up.
    for (let round = 0; round <= pace.rounds; round += 1) {
      const ours = await rotated(ward, root)
      rounds.push({ ours, loop: await loop() })
    }
    const counted = rounds.slice(1)
    return [rateLine(counted), await latencyLine({ ward, root, ids, rounds: pace.rounds }, say)]
  } finally {
    baseline.stop()
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

type Headers = Record<string, string>

/** Rotates the keys and waits for the end. Returns the records per second. */
async function rotated({ service }: Ward, root: Headers): Promise<number> {
  const path = '/api/admin/encryption'
  const begun = performance.now()
  const { records_total } = await call(service, root, 'POST', `${path}/rotate`, {})
  let took = 0
  for (;;) {
    const { status, records_done } = await call(service, root, 'GET', `${path}/status`)
    if (took === 0 && records_done >= records_total) took = performance.now() - begun
    if (status === 'completed') return (records_total / took) * 1000
    if (status !== 'running') throw new Error(`the rotation has ${status}`)
    await delay(LOOK_MS)
  }
}

function rateLine(rounds: readonly { ours: number; loop: number }[]): Line {
  return {
    name: 'rotation, records of one worker, against a bare loop',
    ours: perSecond(median(rounds.map(({ ours }) => ours))),
    limit: perSecond(median(rounds.map(({ loop }) => loop))),
    ratio: median(rounds.map(({ ours, loop }) => ours / loop)),
    aim: { atLeast: 0.4 },
  }
}

interface Asked {
  ward: Ward
  root: Headers
  ids: readonly number[]
  rounds: number
}

/** Reads at half of the service's capacity, alternating between an idle service and a rotation. */
async function latencyLine(
  { ward, root, ids, rounds }: Asked,
  say: (what: string) => void,
): Promise<Line> {
  const { service, headers } = ward
  const half = (await reads(service.url, ids, headers)(1)) / 2
  say(`rotation: at ${perSecond(half)} reads`)
  const read = async (turn: number) => {
    const response = await fetch(`${service.url}/api/patients/${ids[turn % ids.length]}`, {
      headers,
    })
    await response.arrayBuffer()
    return response.status
  }
  const p99 = async (): Promise<number> => {
    const { ms, answers } = await atABeat(1000 / half, READ_FOR, read)
    if (othersThan(answers, (status) => status === 200) > 0) throw new Error('a read was refused')
    return percentile(ms, 0.99)
  }
  const beside = async (): Promise<number> => {
    const rotating = rotated(ward, root)
    const took = await p99()
    await rotating
    return took
  }
  const turns = await byTurns({ idle: p99, beside }, rounds)
  const of = (name: 'idle' | 'beside') => median(turns.map((turn) => turn[name]))
  return {
    name: 'reads at half load during rotations, p99',
    ours: `${of('beside').toFixed(1)} ms`,
    limit: `${of('idle').toFixed(1)} ms idle`,
    ratio: timesAsFast(turns, 'idle', 'beside'),
    aim: { atMost: 2 },
  }
}
