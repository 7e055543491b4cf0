import { type Action, journalEntry } from '../../platform/journal/index.ts'

/** The journal entry of a tenant, which is of its own tenant. */
export const tenantEntry = (action: Extract<Action, `tenant.${string}`>, id: number) =>
  journalEntry(action, 'tenant', { id, tenant_id: id })
