import type { Action } from './actions.ts'

/**
 * Returns a journal entry about a row. The row is the resource of the entry, and the tenant of the row is the tenant of
 * the entry.
 */
export function journalEntry<A extends Action>(
  action: A,
  resource_type: string,
  { id, tenant_id }: { id: number | string | null; tenant_id: number | null },
) {
  return { action, tenant_id, resource_type, resource_id: id }
}
