import { type Action, journalEntry } from '../../platform/journal/index.ts'

/** Returns the journal entry of an action on a tenant. The entry belongs to the same tenant. */
export const tenantEntry = (action: Extract<Action, `tenant.${string}`>, id: number) =>
  journalEntry(action, 'tenant', { id, tenant_id: id })
