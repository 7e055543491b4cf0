/** Writers on a database whose synchronous standby is 10 ms away. Their commits must not take turns. */
import pg from 'pg'
import { openCluster, requirePrograms } from '../cluster.ts'
import { distanceTo } from '../measure/distance.ts'
import { median } from '../measure/statistics.ts'
import { perSecond } from '../measure/table.ts'
import { startService } from '../service.ts'
import { addDepartments, signInAdmins } from './departments.ts'
import type { Scenario } from './scenario.ts'

/** The delay of one direction, in milliseconds. A commit waits for a round trip. */
const ONE_WAY_MS = 5
const WRITERS = 16
/** Each clinic has an administrator, shared by four writers, because the service refuses 16 concurrent sign-ins. */
const CLINICS = 4
const AIM = 300
/** The commits used to measure the round trip. */
const COMMITS = 50

export const distantStandby: Scenario = async (environment, pace, say) => {
  await requirePrograms()
  const cluster = await openCluster(environment.emptyFolder())
  const distance = await distanceTo(cluster.port, ONE_WAY_MS)
  try {
    const url = await cluster.create('distant')
    const service = await startService(environment.emptyFolder(), { DATABASE_URL: url })
    try {
      const callers = await signInAdmins(service.url, CLINICS)
      const write = (seconds: number) =>
        addDepartments({ url: service.url, callers, connections: WRITERS, seconds })
      say('distant-standby: starting the standby')
      await cluster.addSynchronousStandby(distance.port)
      const before = await roundTrip(cluster.superuserOf('distant'))
      await write(1)
      const rates: number[] = []
      for (let round = 0; round < pace.rounds; round += 1) rates.push(await write(pace.seconds * 2))
      const trip = (before + (await roundTrip(cluster.superuserOf('distant')))) / 2
      const rate = median(rates)
      const limit = WRITERS / (trip / 1000)
      return [
        {
          name: `departments of ${WRITERS} writers, the synchronous standby 10 ms away`,
          ours: perSecond(rate),
          limit: perSecond(AIM),
          ratio: rate / AIM,
          aim: { atLeast: 1 },
        },
        {
          name: `the same, against ${WRITERS} commits in each round trip of ${trip.toFixed(1)} ms`,
          ours: perSecond(rate),
          limit: perSecond(limit),
          ratio: rate / limit,
          aim: { atLeast: AIM / (WRITERS / ((2 * ONE_WAY_MS) / 1000)) },
        },
      ]
    } finally {
      await service.stop()
    }
  } finally {
    // Closes the connection first, because a primary that stops waits for a connected standby.
    await distance.close()
    await cluster.stop()
  }
}

/** Returns how many milliseconds one commit takes without any other load. */
async function roundTrip(database: pg.ClientConfig): Promise<number> {
  const client = new pg.Client(database)
  await client.connect()
  await client.query('create table if not exists round_trips (at timestamptz)')
  const taken: number[] = []
  for (let commit = 0; commit < COMMITS; commit += 1) {
    const begun = performance.now()
    await client.query('insert into round_trips values (now())')
    taken.push(performance.now() - begun)
  }
  await client.end()
  return median(taken)
}
