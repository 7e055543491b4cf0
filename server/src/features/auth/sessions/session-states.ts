/** Caches the states of live sessions (decision 0004), so that most requests need no query for the session. */
import {
  type Changes,
  type CoherentCache,
  coherentCache,
  type Scopes,
  type Topic,
} from '../../../platform/db/index.ts'
import { findSessionState, type SessionState } from './sessions.store.ts'

export type SessionStates = CoherentCache<string, SessionState>

/** Creates the cache of session states. @param maxEntries the maximum number of cached sessions on this node */
export const sessionStates = (
  db: Scopes,
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
  maxEntries: number,
): SessionStates =>
  coherentCache(changes, {
    maxEntries,
    load: (tenantId, id) => db.inTenant(tenantId, (tx) => findSessionState(tx, id), 'read'),
    keyOf: ({ kind, id }) => (kind === 'session' ? id : undefined),
    tenantKinds: ['tenant'],
    labelKinds: ['user', 'department'],
    labelsOf: ({ profile: { id, department_id } }): Topic[] =>
      department_id === null ? [`user:${id}`] : [`user:${id}`, `department:${department_id}`],
  })
