import { type Action, journalEntry } from '../../../platform/journal/index.ts'

/** Returns the journal entry of an action on a session. The id is null if the action concerns several sessions. */
export const sessionEntry = (action: Action, tenantId: number, sessionId: string | null) =>
  journalEntry(action, 'session', { id: sessionId, tenant_id: tenantId })
