/** The requests of the page "Encryption". */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import type { ServiceJob } from '../../parts/jobs/use-job.ts'

/** The description of the keys as the API returns it. */
export type EncryptionKeys = Schemas['EncryptionKeys']

const MAX_ROTATIONS = 20
const REFRESH_MS = 15_000
const WAITING_MS = 5_000

/** Describes the keys. */
export const useKeys = () =>
  useQuery({
    queryKey: ['encryption', 'keys'],
    queryFn: () => take(api.GET('/api/admin/encryption/keys')),
    refetchInterval: REFRESH_MS,
  })

/** Loads the latest rotations, the newest first. */
export const useRotations = () =>
  useQuery({
    queryKey: ['encryption', 'rotations'],
    queryFn: (): Promise<{ items: readonly ServiceJob[] }> => {
      const query = { kind: 'rotation', limit: MAX_ROTATIONS } as const
      return take(api.GET('/api/admin/jobs', { params: { query } }))
    },
    refetchInterval: REFRESH_MS,
  })

/** Loads the transaction for which a running rotation waits. */
export const useWaitsFor = () =>
  useQuery({
    queryKey: ['encryption', 'status'],
    queryFn: () => take(api.GET('/api/admin/encryption/status')),
    select: ({ waits_for }) => waits_for,
    refetchInterval: WAITING_MS,
  })

/** Returns the function that rotates the keys, and the function that loads the page again. */
export function useRotation() {
  const queries = useQueryClient()
  const reload = () =>
    Promise.all(
      // A resumed rotation is the same job, which had ended before.
      ['encryption', 'jobs'].map((name) => queries.invalidateQueries({ queryKey: [name] })),
    )
  return {
    reload,
    rotate: () => take(api.POST('/api/admin/encryption/rotate', { body: {} })),
  }
}
