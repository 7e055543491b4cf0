/** Reads counts over time for charts. */
import { DAY, HOUR } from '../../lib/clock.ts'
import type { Refuse } from '../../lib/problems.ts'
import type { Time } from '../../lib/time.ts'
import { type Admin, requireOwnTenant } from '../../platform/access/index.ts'
import { inScope, type Scopes, scopeOf } from '../../platform/db/index.ts'
import { type Bucket, bucketBounds, isTimeZone, type Period } from './buckets.ts'
import { percentile } from './durations.ts'
import { hasDurations, type StatsSeries } from './series.ts'
import type { Stats, StatsQuery } from './stats.schema.ts'
import { type StatsSum, sumCounts } from './stats.store.ts'

export interface StatsService {
  /** Returns the counts of the period. @throws Problem 403 for another tenant */
  read(caller: Admin, query: StatsQuery, period: Period): Promise<Stats>
}

/** The maximum length of a period. The additional hour allows for a change of the clocks. */
const MAX_MS: Readonly<Record<Bucket, number>> = { hour: 31 * DAY + HOUR, day: 400 * DAY + HOUR }
const MAX_WORDS: Readonly<Record<Bucket, string>> = { hour: '31 days', day: '400 days' }

/** The times for which PostgreSQL can store the buckets of every time zone. */
const [EARLIEST, LATEST] = [Date.UTC(1970, 0, 1), Date.UTC(9999, 0, 1)]
const STORABLE_WORDS = 'the time must be in the years 1970 to 9998, and not a leap second'

/** Returns false for a leap second too, which is a valid time but is not a number for `Date`. */
const isStorable = (time: number) => time >= EARLIEST && time < LATEST

interface PeriodInput {
  query: Partial<StatsQuery>
}

/** Parses the period. Calls `refuse` if it is too long or empty, or if its time zone is unknown. */
export function parsePeriod({ query }: PeriodInput, refuse: Refuse): Period {
  const { bucket = 'day', time_zone: timeZone = 'UTC' } = query
  const [from, to] = [Date.parse(query.from ?? ''), Date.parse(query.to ?? '')]
  // The schema has refused a time that is missing here.
  const [hasFrom, hasTo] = [query.from !== undefined, query.to !== undefined]
  if (hasFrom && !isStorable(from)) refuse(['query', 'from'], STORABLE_WORDS)
  else if (hasTo && !isStorable(to)) refuse(['query', 'to'], STORABLE_WORDS)
  else if (to <= from) refuse(['query', 'to'], 'to must be after from')
  else if (to - from > MAX_MS[bucket])
    refuse(['query', 'to'], `the period must not be longer than ${MAX_WORDS[bucket]}`)
  if (!isTimeZone(timeZone))
    refuse(['query', 'time_zone'], 'not a known time zone. Send one such as Europe/Berlin')
  return { bucket, timeZone, from, to }
}

export function statsService(db: Scopes, clock: Time): StatsService {
  return {
    async read(caller, query, period) {
      requireOwnTenant(caller, query.tenant_id)
      const scope = scopeOf(caller, query.tenant_id)
      const now = clock.now()
      const bounds = bucketBounds(period)
      const starts = bounds.slice(0, -1).filter((start) => start <= now)
      const names = [...new Set(query.series)]
      const times = bounds.map(isoOf)
      const sums =
        starts.length === 0
          ? []
          : await inScope(db, scope, (tx) => sumCounts(tx, names, times), 'list')
      return {
        as_of: isoOf(now),
        tenant_id: scope,
        bucket: period.bucket,
        time_zone: period.timeZone,
        buckets: starts.map((start, n) => ({
          at: isoOf(start),
          partial: (bounds[n + 1] ?? 0) > now,
        })),
        series: names.map((name) =>
          seriesOfSums(
            name,
            sums.filter(({ series }) => series === name),
            starts.length,
          ),
        ),
      }
    },
  }
}

const isoOf = (time: number) => new Date(time).toISOString()

function seriesOfSums(
  name: StatsSeries,
  sums: readonly StatsSum[],
  buckets: number,
): Stats['series'][number] {
  const each = Array.from({ length: buckets }, () => new Map<number, number>())
  const all = new Map<number, number>()
  for (const { step, bucket, count } of sums)
    for (const histogram of [each[bucket], all])
      histogram?.set(step, (histogram.get(step) ?? 0) + count)
  return {
    name,
    total: totalOf(all),
    values: each.map(totalOf),
    durations: hasDurations(name)
      ? { ...percentilesOf(all), values: each.map(percentilesOf) }
      : null,
  }
}

const totalOf = (histogram: ReadonlyMap<number, number>) =>
  [...histogram.values()].reduce((sum, count) => sum + count, 0)

const percentilesOf = (histogram: ReadonlyMap<number, number>) => ({
  p50_ms: percentile(histogram, 0.5),
  p95_ms: percentile(histogram, 0.95),
})
