/** Reads the counts of a clinic in tests. */
import { countEntries } from '../../src/features/stats/counting.ts'
import { SERIES } from '../../src/features/stats/series.ts'
import { DAY } from '../../src/lib/clock.ts'
import type { Clinic, Person } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import type { Answer, Service } from '../support/service.ts'

export const ALL_SERIES: readonly string[] = SERIES

/** Valid parameters of the operation, for tests of all operations. */
export const SOME_STATS = {
  series: ['sign_ins', 'deliveries_delivered'],
  bucket: 'day',
  from: '2026-11-01T00:00:00Z',
  to: '2026-11-20T00:00:00Z',
}

export interface StatsScene {
  service: Service
  clinic: Clinic
}

interface StatsRequest {
  series?: readonly string[]
  bucket?: 'hour' | 'day'
  /** The number of days up to now; 7 by default. */
  days?: number
  person?: Person
  query?: Record<string, string | number>
}

/** Counts every entry of the journal, as the background work does. */
export async function countAll({ app }: Pick<Service, 'app'>): Promise<void> {
  const node = countEntries(app.db, silentLog)
  await node.idle()
  await node.stop()
}

/** Counts everything, and returns the response for the days up to now. */
export async function readStats(
  { service, clinic }: StatsScene,
  { series = SERIES, bucket = 'day', days = 7, person = clinic.people.admin, query }: StatsRequest,
): Promise<Answer> {
  await countAll(service)
  const now = service.clock.now()
  return service.call('GET', '/api/admin/stats', {
    token: person.token,
    query: {
      series,
      bucket,
      from: new Date(now - days * DAY).toISOString(),
      to: new Date(now + 1).toISOString(),
      ...query,
    },
  })
}

/** Returns the total of each series in the last week. */
export async function totalsOf(scene: StatsScene): Promise<Record<string, number>> {
  const { body } = await readStats(scene, {})
  return Object.fromEntries(
    body.series.map(({ name, total }: { name: string; total: number }) => [name, total]),
  )
}
