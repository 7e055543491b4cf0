/** The counts over time that charts show: their period in the URL, and their request. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { api, type Schemas, take } from '../../api/client.ts'
import { useClinicId } from '../../shell/clinic.ts'
import { useChangeSearch } from '../list/list-state.ts'

export type Stats = Schemas['Stats']
export type StatsSeries = Stats['series'][number]['name']

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The interval of refreshes while the page is visible. */
const REFRESH_MS = 60_000

/** The periods that end now. The first bucket of each contains the time `backMs` ago. */
const PERIODS = {
  '24h': { bucket: 'hour', backMs: 23 * HOUR_MS },
  '7d': { bucket: 'day', backMs: 6 * DAY_MS },
  '30d': { bucket: 'day', backMs: 29 * DAY_MS },
} as const

export type StatsRange = keyof typeof PERIODS
export const STATS_RANGES = Object.keys(PERIODS) as StatsRange[]
const DEFAULT_RANGE: StatsRange = '24h'

/** Reads a period from the URL. Returns the last 24 hours for any other value. */
export const readStatsRange = (value: unknown): StatsRange =>
  STATS_RANGES.find((range) => range === value) ?? DEFAULT_RANGE

/** Returns the period in the URL, and a function that changes it. */
export function useStatsRange(): [range: StatsRange, choose: (range: StatsRange) => void] {
  const { period }: { period?: unknown } = useSearch({ strict: false })
  const change = useChangeSearch()
  return [
    readStatsRange(period),
    (range) => change({ period: range === DEFAULT_RANGE ? undefined : range }),
  ]
}

/** The counts of a period. While another period loads, the counts of the previous one stay. */
export interface RangeStats {
  readonly range: StatsRange
  readonly stats: Stats
}

/** Loads the counts of the clinic for the period in the URL, in the browser's time zone. */
export function useStats(series: readonly StatsSeries[]) {
  const clinicId = useClinicId()
  const [range] = useStatsRange()
  return useQuery({
    queryKey: ['stats', clinicId, range, ...series],
    queryFn: async (): Promise<RangeStats> => {
      const now = Date.now()
      const { bucket, backMs } = PERIODS[range]
      const query = {
        series: [...series],
        bucket,
        from: new Date(now - backMs).toISOString(),
        to: new Date(now + 1).toISOString(),
        time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        tenant_id: clinicId,
      }
      return { range, stats: await take(api.GET('/api/admin/stats', { params: { query } })) }
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })
}

/** Returns one series of a response. */
export const seriesIn = (stats: Stats, name: StatsSeries): Stats['series'][number] | undefined =>
  stats.series.find((series) => series.name === name)
