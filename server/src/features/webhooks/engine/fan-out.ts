/**
 * Follows the journal and makes a delivery of each event for each webhook that wants it, in the
 * transaction that moves the consumer's position: none is missed, none is made twice.
 */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Changes, Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Follower, follow, isPublic } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type Event, ensureDays, insertDeliveries, scheduleQueues } from './fan-out.store.ts'
import { notifyDue } from './topics.ts'

export interface FanOutDeps {
  db: Scopes
  changes: Changes
  clock: Clock
  log: Logger
  /** Milliseconds between looks when nothing wakes it; a second unless a test says otherwise. */
  pollMs?: number
}

/** Under which its position is kept. */
export const CONSUMER = 'webhooks'

export function followEvents({ db, changes, clock, log, pollMs = 1000 }: FanOutDeps): Follower {
  return follow(db, log, {
    name: CONSUMER,
    columns: ['tenant_id', 'action', 'created_at'],
    changes,
    pollMs,
    handle: (tx, entries) => fanOut(tx, entries.filter(isEvent), clock),
  })
}

/** A test is sent by the one who asks for it, and to that webhook alone. */
function isEvent(entry: Omit<Event, 'tenant_id'> & { tenant_id: number | null }): entry is Event {
  return entry.tenant_id !== null && isPublic(entry.action) && entry.action !== 'webhook.test'
}

/** Returns whether any webhook wants any of the events. */
async function fanOut(tx: TenantTx, events: readonly Event[], clock: Clock): Promise<boolean> {
  if (events.length === 0) return false
  const iso = isoAt(clock)
  const webhooks = await scheduleQueues(tx, events, iso)
  if (webhooks.length === 0) return false
  ensureDays(tx, events, webhooks)
  insertDeliveries(tx, events, webhooks, iso)
  notifyDue(tx, webhooks)
  return true
}
