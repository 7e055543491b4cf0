import type { Action } from './actions.ts'

/** What a change of a row is journaled as: the action, and the row as the resource of its tenant. */
export function journalEntry<A extends Action>(
  action: A,
  resource_type: string,
  { id, tenant_id }: { id: number | string | null; tenant_id: number | null },
) {
  return { action, tenant_id, resource_type, resource_id: id }
}
