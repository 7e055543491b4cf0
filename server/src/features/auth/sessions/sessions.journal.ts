import { type Action, journalEntry } from '../../../platform/journal/index.ts'

/** The journal entry of a session; of several at once it has no id. */
export const sessionEntry = (action: Action, tenantId: number, sessionId: string | null) =>
  journalEntry(action, 'session', { id: sessionId, tenant_id: tenantId })
