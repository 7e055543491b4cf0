/** The requests of the page "Self-healing". */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { choiceParameter } from '../../parts/list/parameters.ts'
import { usePersonHere } from '../../shell/person.ts'

/** A check with its findings as the API returns it. */
export type Fix = Schemas['Fix']

export const SEVERITIES = ['critical', 'high', 'medium', 'low'] as const

/** The parameters of the URL. */
export const healingList = {
  filters: {
    show: choiceParameter(['all']),
    severity: choiceParameter(SEVERITIES),
  },
  sortable: [],
  sort: { column: 'state', direction: 'asc' },
} as const

const REFRESH_MS = 30_000

/** Loads all checks with their findings. */
export function useFixes() {
  const { tenant_id } = usePersonHere()
  return useQuery({
    queryKey: ['self-healing', tenant_id, 'fixes'],
    queryFn: async (): Promise<readonly Fix[]> =>
      (await take(api.GET('/api/admin/self-healing/fixes'))).items,
    refetchInterval: REFRESH_MS,
  })
}

/** Loads the time of the last scan, which only superadmins see. */
export function useScanStats() {
  const { tenant_id } = usePersonHere()
  return useQuery({
    queryKey: ['self-healing', tenant_id, 'stats'],
    queryFn: () => take(api.GET('/api/admin/self-healing/stats')),
    refetchInterval: REFRESH_MS,
  })
}

/** Returns the commands of superadmins, and the function that loads the page again. */
export function useHealingCommands() {
  const queries = useQueryClient()
  const reload = async () => {
    // The navigation shows the number of faults of the overview.
    void queries.invalidateQueries({ queryKey: ['overview'] })
    await queries.invalidateQueries({ queryKey: ['self-healing'] })
  }
  return {
    reload,
    /** Starts a scan, or returns the scan that is running. */
    scan: () => take(api.POST('/api/admin/self-healing/scan')),
    async confirm(fix_id: number): Promise<Fix> {
      const params = { path: { fix_id } }
      const fix = await take(api.POST('/api/admin/self-healing/confirm/{fix_id}', { params }))
      void reload()
      return fix
    },
    async takeOut(fix_id: number): Promise<void> {
      const params = { path: { fix_id } }
      await take(api.DELETE('/api/admin/self-healing/fixes/{fix_id}', { params }))
      void reload()
    },
    async seed(): Promise<number> {
      const params = { query: { overwrite: false } }
      const { created } = await take(api.POST('/api/admin/self-healing/seed-fixes', { params }))
      void reload()
      return created
    },
  }
}

/** True if a check has findings, or a repair that waits or failed. */
export const isOpen = ({ status, occurrences, unknown }: Fix): boolean =>
  status === 'proposed' || status === 'failed' || occurrences > 0 || unknown !== null

/** Returns the check whose findings were repaired last. */
export const lastRepaired = (fixes: readonly Fix[]): Fix | undefined =>
  fixes
    .filter(({ applied_at, status }) => applied_at !== null && status === 'applied')
    .toSorted((one, other) => Date.parse(other.applied_at ?? '') - Date.parse(one.applied_at ?? ''))
    .at(0)

const rank = (fix: Fix) => [isOpen(fix) ? 0 : 1, SEVERITIES.indexOf(fix.severity)] as const

/** Sorts the checks: those with findings first, then by severity. */
export const sortFixes = (fixes: readonly Fix[]): readonly Fix[] =>
  fixes.toSorted((a, b) => {
    const [one, other] = [rank(a), rank(b)]
    return one[0] - other[0] || one[1] - other[1] || a.id - b.id
  })
