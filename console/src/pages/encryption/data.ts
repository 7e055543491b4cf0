/** The requests of the page "Encryption". */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'
import type { ServiceJob } from '../../parts/jobs/use-job.ts'

/** The description of the keys as the API returns it. */
export type EncryptionKeys = Schemas['EncryptionKeys']

const MAX_ROTATIONS = 20
const REFRESH_MS = 15_000
const WAITING_MS = 5_000

/** The rotations, the newest first, and the keys. */
export interface Encryption {
  readonly rotations: readonly ServiceJob[]
  readonly keys: EncryptionKeys
}

/**
 * Loads the latest rotations, and then the keys, so that the keys are never older than the rotations. Otherwise the page
 * would show keys from during a rotation beside its end.
 */
export const useEncryption = () =>
  useQuery({
    queryKey: ['encryption', 'page'],
    queryFn: async (): Promise<Encryption> => {
      const query = { kind: 'rotation', limit: MAX_ROTATIONS } as const
      const { items } = await take(api.GET('/api/admin/jobs', { params: { query } }))
      return { rotations: items, keys: await take(api.GET('/api/admin/encryption/keys')) }
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
