/** Reloads data that a change of a record may have affected elsewhere. */
import { useQueryClient } from '@tanstack/react-query'
import { useClinicId } from './clinic.ts'

/** The pages whose records name users and departments of one another. */
const RELATED = ['users', 'departments', 'audit', 'overview'] as const

/** A record that was just deleted. */
interface DeletedRecord {
  readonly name: (typeof RELATED)[number]
  readonly id: number
}

/**
 * Returns a function that starts to reload the related records of the clinic. The page reports its result without
 * waiting for them. A deleted record is not requested again.
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
