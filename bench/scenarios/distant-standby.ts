/** Writers on a database whose synchronous standby is 10 ms away. Their commits must not take turns. */
import pg from 'pg'
import { openCluster, requirePrograms } from '../cluster.ts'
import { distanceTo } from '../measure/distance.ts'
import { drive } from '../measure/load.ts'
import { median } from '../measure/statistics.ts'
import { perSecond } from '../measure/table.ts'
import { PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { type Service, signIn, startService } from '../service.ts'
import { makeClinics } from './clinics.ts'
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
      const callers = await signInAdmins(service)
      say('distant-standby: starting the standby')
      await cluster.addSynchronousStandby(distance.port)
      const before = await roundTrip(cluster.superuserOf('distant'))
      await write(service, callers, 1)
      const rates: number[] = []
      for (let round = 0; round < pace.rounds; round += 1)
        rates.push(await write(service, callers, pace.seconds * 2))
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

/** Creates the clinics. Returns the headers of their administrators. */
async function signInAdmins({ url }: Service): Promise<Record<string, string>[]> {
  await makeClinics(url, CLINICS, [], '*')
  const admins = Array.from({ length: CLINICS }, async (_, clinic) => {
    const subdomain = subdomainOf(clinic)
    const admin = await signIn(url, `admin@${subdomain}.example`, PASSWORD, subdomain)
    return {
      authorization: `Bearer ${admin.access_token}`,
      'content-type': 'application/json',
    }
  })
  return Promise.all(admins)
}

let made = 0

/** Adds departments, one at a time for each writer. Returns how many per second. */
const write = ({ url }: Service, callers: Record<string, string>[], seconds: number) =>
  drive({
    url,
    connections: WRITERS,
    seconds,
    callers,
    request: {
      method: 'POST',
      path: '/api/admin/departments',
      setupRequest: (request) => {
        made += 1
        return { ...request, body: JSON.stringify({ name: `Ward ${made}` }) }
      },
    },
  })

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
