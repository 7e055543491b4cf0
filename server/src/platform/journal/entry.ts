import type { Action } from './actions.ts'

/** Returns a journal entry about a row. The row becomes the entry's resource, and its tenant the entry's tenant. */
export function journalEntry<A extends Action>(
  action: A,
  resource_type: string,
  { id, tenant_id }: { id: number | string | null; tenant_id: number | null },
) {
  return { action, tenant_id, resource_type, resource_id: id }
}
