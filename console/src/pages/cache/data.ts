/** The requests of the page "Patient cache". */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import { usePersonHere } from '../../shell/person.ts'

/** The figures of one node as the API returns them. */
export type CacheStats = Schemas['CacheStats']

const REFRESH_MS = 10_000
const MAX_IDS = 1_000

/** Loads the figures of the node that answers. */
export function useCacheStats() {
  const { tenant_id } = usePersonHere()
  return useQuery({
    queryKey: ['cache', tenant_id],
    queryFn: () => take(api.GET('/api/admin/cache/stats')),
    refetchInterval: REFRESH_MS,
  })
}

/** Returns the commands on the cache. Each command loads the figures again. */
export function useCacheCommands() {
  const queries = useQueryClient()
  const reload = <Result>(result: Result): Result => {
    void queries.invalidateQueries({ queryKey: ['cache'] })
    return result
  }
  const path = '/api/admin/cache/invalidate'
  return {
    cleanUp: async () => reload((await take(api.POST('/api/admin/cache/cleanup'))).removed),
    dropAll: async () => reload((await take(api.POST(path, { body: { all: true } }))).invalidated),
    dropOne: async (patient_id: number) =>
      reload((await take(api.POST(path, { body: { patient_id } }))).invalidated),
    warmUp: async (patient_ids: number[]) =>
      reload(await take(api.POST('/api/admin/cache/warmup', { body: { patient_ids } }))),
  }
}

/** Reads ids that are separated by commas or spaces. Returns undefined if the text has anything else. */
export function readIds(text: string): number[] | undefined {
  const ids = text.split(/[\s,;]+/).filter((part) => part !== '')
  const areValid = ids.length > 0 && ids.length <= MAX_IDS
  return areValid && ids.every((id) => /^[1-9]\d{0,14}$/.test(id)) ? ids.map(Number) : undefined
}
