/** Reloads data in other places that a change of a record may affect. */
import { useQueryClient } from '@tanstack/react-query'
import { useClinicId } from './clinic.ts'

/** The pages whose records contain names of users and departments. */
const RELATED = ['users', 'departments', 'audit', 'overview'] as const

/** A record that was just deleted. */
interface DeletedRecord {
  readonly name: (typeof RELATED)[number]
  readonly id: number
}

/**
 * Returns a function that starts to reload the related records of the clinic. The caller need not wait for the reload.
 * The function does not reload a deleted record.
 */
export function useReloadClinic(): (deleted?: DeletedRecord) => void {
  const queries = useQueryClient()
  const clinicId = useClinicId()
  return (deleted) => {
    for (const name of RELATED)
      void queries.invalidateQueries({
        queryKey: [name, clinicId],
        predicate: ({ queryKey }) => name !== deleted?.name || queryKey[3] !== deleted.id,
      })
  }
}
