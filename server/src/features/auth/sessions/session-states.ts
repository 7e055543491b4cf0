/**
 * The state of live sessions, held in memory (decision 0004): a request of a known session reads no
 * database.
 */
import {
  type Changes,
  type CoherentCache,
  coherentCache,
  type Scopes,
  type Topic,
} from '../../../platform/db/index.ts'
import { findSessionState, type SessionState } from './sessions.store.ts'

const MAX_HELD = 20_000

export type SessionStates = CoherentCache<string, SessionState>

export const sessionStates = (
  db: Scopes,
  changes: Pick<Changes, 'subscribe' | 'trusted'>,
): SessionStates =>
  coherentCache(changes, {
    maxEntries: MAX_HELD,
    load: (tenantId, id) => db.inTenant(tenantId, (tx) => findSessionState(tx, id), 'read'),
    keyOf: ({ kind, id }) => (kind === 'session' ? id : undefined),
    tenantKinds: ['tenant'],
    labelKinds: ['user', 'department'],
    labelsOf: ({ profile: { id, department_id } }): Topic[] =>
      department_id === null ? [`user:${id}`] : [`user:${id}`, `department:${department_id}`],
  })
