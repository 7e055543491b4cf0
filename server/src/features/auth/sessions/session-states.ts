/**
 * The state of live sessions, held in memory: a request of a known session reads no database. What
 * a commit makes stale is dropped at once here and, by notification, on every other node; while
 * notifications may be missed nothing held is believed.
 */
import { LRUCache } from 'lru-cache'
import { type Changes, parseTopic, type Scopes } from '../../../platform/db/index.ts'
import { findSessionState, type SessionState } from './sessions.store.ts'

const MAX_CACHED = 20_000

export interface SessionStates {
  /** The state of a session; undefined when it has ended. A value, and no promise, where it is held. */
  get(tenantId: number, sessionId: string): SessionState | Promise<SessionState | undefined>
}

export function sessionStates(db: Scopes, changes: Changes): SessionStates {
  const cached = new LRUCache<string, SessionState>({ max: MAX_CACHED })
  const loading = new Map<string, Promise<SessionState | undefined>>()

  changes.subscribe((topic) => {
    if (topic === null) {
      loading.clear()
      cached.clear()
    } else drop(topic)
  })

  function drop(topic: string): void {
    const { kind, id = '', number = 0 } = parseTopic(topic)
    const isStale = STALE_BY[kind]
    // Other topics, above all that of new journal entries, leave sessions as they are.
    if (kind !== 'session' && !isStale) return
    // A load that began before the change may bring the old state: whoever asks next loads anew.
    loading.clear()
    if (!isStale) return void cached.delete(id)
    for (const [key, state] of cached.entries()) if (isStale(state, number)) cached.delete(key)
  }

  function load(tenantId: number, sessionId: string): Promise<SessionState | undefined> {
    const started = loading.get(sessionId)
    if (started !== undefined) return started
    const work = db
      .inTenant(tenantId, (tx) => findSessionState(tx, sessionId), 'read')
      .then((state) => {
        // Only what no change has overtaken is kept.
        if (state && loading.get(sessionId) === work) cached.set(sessionId, state)
        return state
      })
      .finally(() => {
        if (loading.get(sessionId) === work) loading.delete(sessionId)
      })
    loading.set(sessionId, work)
    return work
  }

  return {
    get(tenantId, sessionId) {
      if (!changes.trusted())
        return db.inTenant(tenantId, (tx) => findSessionState(tx, sessionId), 'read')
      const state = cached.get(sessionId)
      return state && state.profile.tenant_id === tenantId ? state : load(tenantId, sessionId)
    },
  }
}

/** Which cached states a topic of each kind makes stale. */
const STALE_BY: Record<string, (state: SessionState, id: number) => boolean> = {
  user: (state, id) => state.profile.id === id,
  tenant: (state, id) => state.profile.tenant_id === id,
  department: (state, id) => state.profile.department_id === id,
}
