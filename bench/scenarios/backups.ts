/** Backups of large clinics compared with PostgreSQL's own programs, and their effect on other requests. */
import { dumpAsArchive, dumpThroughZstd, restoreArchive } from '../baselines/pg-tools.ts'
import { type Cluster, openCluster, requirePrograms } from '../cluster.ts'
import { othersThan } from '../measure/answers.ts'
import { atABeat } from '../measure/beat.ts'
import { drive } from '../measure/load.ts'
import { peakMb, residentMb, untilAtRest } from '../measure/process.ts'
import { median, percentile } from '../measure/statistics.ts'
import type { Line } from '../measure/table.ts'
import { byTurns, type Rounds, timesAsFast } from '../measure/turns.ts'
import { AUDITORS, tenantId } from '../seed/people.ts'
import {
  auditorOf,
  type BackedUp,
  backUp,
  drill,
  fileOf,
  openBackedUp,
  restoreInPlace,
  restoreIntoEmpty,
} from './backed-up.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'

/** The number of clinics with 1,000 users and 5,000 entries each. */
const CLINICS = 1000
/** The clinic that is restored separately, and whose auditor reads during backups. */
const ONE = 3
/** The users whose name was changed after the backup that is restored in place. */
const CHANGED = 'id % 10 = 0'
/** Seconds of reads per measurement. */
const READ_FOR = 10
const MIB = 2 ** 20 / 1e6

export const backups: Scenario = async (environment, pace, say) => {
  await requirePrograms()
  const cluster = await openCluster(environment.emptyFolder())
  const open = (name: string, clinics: number) =>
    openBackedUp(cluster, { name, folder: environment.emptyFolder(), clinics }, say)
  try {
    const clinics = Math.round(CLINICS * pace.share)
    const small = await open('tenth', Math.max(clinics / 10, ONE + 1))
    const smallPeak = await peakOf(small)
    await small.stop()
    const large = await open('whole', clinics)
    try {
      const memory = memoryLines(await peakOf(large), smallPeak)
      const folder = environment.emptyFolder()
      say('backups: creating')
      const created = await creating(large, cluster, folder, pace.rounds)
      say('backups: reading meanwhile')
      const read = await latencyLine(large, pace.rounds)
      say('backups: restoring')
      const restored = await restoring(large, cluster, folder, pace.rounds)
      return [...created, ...memory, read, ...restored, ...(await oneClinic(large))]
    } finally {
      await large.stop()
    }
  } finally {
    await cluster.stop()
  }
}

/** Returns the additional memory of the first backup of a process above its idle memory, in MiB. */
async function peakOf(of: BackedUp): Promise<number> {
  // The readers of the journal process the seeded entries first.
  await untilAtRest(of.service.pid)
  const idle = residentMb(of.service.pid)
  const peak = await peakMb(of.service.pid, () => backUp(of))
  return (peak - idle) / MIB
}

function memoryLines(large: number, small: number): Line[] {
  return [
    {
      name: 'peak memory of a backup, beside the idle service',
      ours: `${large.toFixed(0)} MiB`,
      limit: '100 MiB',
      ratio: large / 100,
      aim: { atMost: 1 },
    },
    {
      name: 'the same, beside that of a tenth of the data',
      ours: `${(large - small).toFixed(0)} MiB more`,
      limit: '20 MiB',
      ratio: (large - small) / 20,
      aim: { atMost: 1 },
    },
  ]
}

/** The dump files, which each turn overwrites. */
const dumpIn = (folder: string) => `${folder}.sql.zst`
const archiveIn = (folder: string) => `${folder}.dump`

async function creating(
  of: BackedUp,
  cluster: Cluster,
  folder: string,
  count: number,
): Promise<Line[]> {
  const works = {
    ours: afresh(cluster, () => seconds(() => backUp(of))),
    zstd: afresh(cluster, () => dumpThroughZstd(of.database, dumpIn(folder))),
    archive: afresh(cluster, () => dumpAsArchive(of.database, archiveIn(folder))),
  }
  const rounds = await byTurns(works, count)
  return [
    lineOf('a backup until it counts, against pg_dump | zstd -1', rounds, 'ours', 'zstd', 0.9),
    lineOf('the same, against pg_dump -Fc', rounds, 'ours', 'archive', 3),
  ]
}

async function restoring(
  of: BackedUp,
  cluster: Cluster,
  folder: string,
  count: number,
): Promise<Line[]> {
  const id = await backUp(of)
  await dumpAsArchive(of.database, archiveIn(folder))
  const closed: number[] = []
  const works = {
    empty: afresh(cluster, () => restoreIntoEmpty(of, cluster, fileOf(of, id))),
    tool: afresh(cluster, () => restoreByTool(cluster, archiveIn(folder))),
    place: afresh(cluster, async () => {
      await of.sql(`update users set full_name = 'Changed since' where ${CHANGED}`)
      const { seconds: took, closedSeconds } = await restoreInPlace(of, id)
      closed.push(closedSeconds)
      return took
    }),
  }
  const rounds = await byTurns(works, count)
  const against = 'against pg_restore --single-transaction'
  return [
    lineOf(`a restore into an empty database, ${against}`, rounds, 'empty', 'tool', 0.9),
    lineOf(`a restore in place, ${against}`, rounds, 'place', 'tool', 0.7),
    told('the service was closed for a restore in place of everything', median(closed)),
    told('the drill of it', await drill(of, id)),
  ]
}

/** Returns how many seconds `pg_restore` into a new database takes. Drops the database afterwards. */
async function restoreByTool(cluster: Cluster, archive: string): Promise<number> {
  const name = 'restored'
  await cluster.create(name)
  try {
    return await restoreArchive(cluster.superuserOf(name), archive)
  } finally {
    await cluster.drop(name)
  }
}

/** Reads at half of the service's capacity, alternating between an idle service and continuous backups. */
async function latencyLine(of: BackedUp, rounds: number): Promise<Line> {
  const { service } = of
  const callers: Record<string, string>[] = []
  for (let place = 1; place <= AUDITORS; place += 1)
    callers.push(await auditorOf(service, ONE, place))
  const url = `${service.url}/api/admin/users?limit=20`
  const half = (await drive({ url, connections: CONNECTIONS, seconds: 2, callers })) / 2
  const p99 = async (): Promise<number> => {
    const { ms, answers } = await atABeat(1000 / half, READ_FOR, async (turn) => {
      const headers = callers[turn % AUDITORS] ?? {}
      const response = await fetch(url, { headers })
      await response.arrayBuffer()
      return response.status
    })
    if (othersThan(answers, (status) => status === 200) > 0)
      throw new Error(`a read was refused: ${JSON.stringify(answers)}`)
    return percentile(ms, 0.99)
  }
  const beside = async (): Promise<number> => {
    let isOver = false
    const backingUp = (async () => {
      while (!isOver) await backUp(of)
    })()
    try {
      return await p99()
    } finally {
      isOver = true
      await backingUp
    }
  }
  const turns = await byTurns({ idle: p99, beside }, rounds)
  const ms = (name: 'idle' | 'beside') => median(turns.map((turn) => turn[name]))
  return {
    name: 'reads at half load while a backup runs, p99',
    ours: `${ms('beside').toFixed(1)} ms`,
    limit: `${ms('idle').toFixed(1)} ms idle`,
    ratio: timesAsFast(turns, 'idle', 'beside'),
    aim: { atMost: 2 },
  }
}

/** Restores one clinic, some of whose users have changed, from the full backup. */
async function oneClinic(of: BackedUp): Promise<Line[]> {
  const id = await backUp(of)
  const clinic = { number: ONE, id: tenantId(ONE) }
  await of.sql(`update users set full_name = 'Changed since' where tenant_id = $1`, [clinic.id])
  const { seconds: took, closedSeconds } = await restoreInPlace(of, id, clinic)
  return [
    {
      name: 'one clinic of 1,000 users out of it: its 503',
      ours: `${closedSeconds.toFixed(2)} s`,
      limit: '2 s',
      ratio: closedSeconds / 2,
      aim: { atMost: 1 },
    },
    told('the same, from the order to its end', took),
  ]
}

/** Returns a task that runs a checkpoint first. */
const afresh = (cluster: Cluster, work: () => Promise<number>) => async () => {
  await cluster.settle()
  return work()
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

function lineOf<K extends string>(
  name: string,
  rounds: Rounds<K>,
  work: K,
  other: K,
  atLeast: number,
): Line {
  const of = (one: K) => `${median(rounds.map((took) => took[one])).toFixed(1)} s`
  const ratio = timesAsFast(rounds, work, other)
  return { name, ours: of(work), limit: of(other), ratio, aim: { atLeast } }
}

/** Returns a line for a figure without an aim. */
const told = (name: string, took: number): Line => ({
  name,
  ours: `${took.toFixed(1)} s`,
  limit: 'told',
  ratio: 0,
  aim: { atLeast: 0 },
})
