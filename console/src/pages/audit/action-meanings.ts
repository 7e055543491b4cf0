/** The meanings of the actions in the audit log, as the API returns them. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, type Schemas, take } from '../../api/client.ts'

/** An action with its meaning and its group. */
export type AuditAction = Schemas['AuditAction']

/** The request for every action. The response changes only with a release. */
export const actionsQuery = queryOptions({
  queryKey: ['audit-actions'],
  queryFn: (): Promise<readonly AuditAction[]> => take(api.GET('/api/admin/audit/actions')),
  staleTime: Number.POSITIVE_INFINITY,
})

/** Every action, and a function that explains an action. */
export interface ActionMeanings {
  /** Empty until the actions are loaded. */
  readonly actions: readonly AuditAction[]
  /** Returns the meaning of an action. Returns the name of an unknown action. */
  readonly meaningOf: (action: string) => string
}

/** Loads the meanings of the actions. All pages share the result. */
export function useActionMeanings(): ActionMeanings {
  const actions = useQuery(actionsQuery).data ?? []
  const meanings = new Map(actions.map(({ action, meaning }) => [action, meaning]))
  return { actions, meaningOf: (action) => meanings.get(action) ?? action }
}
