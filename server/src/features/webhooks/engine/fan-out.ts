/**
 * Follows the journal, and creates a delivery of each event for each webhook that subscribes to it. The same
 * transaction advances the consumer's position in the journal, so no delivery is missed or created twice.
 */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Changes, Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Follower, follow, isPublic } from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import {
  type FanOutEvent,
  insertDeliveries,
  scheduleQueues,
  sendEnsureDays,
} from './fan-out.store.ts'
import { notifyDue } from './topics.ts'

export interface FanOutDeps {
  db: Scopes
  changes: Changes
  clock: Clock
  log: Logger
  /** Milliseconds between polls of the journal if no notification arrives. The default is 1000. */
  pollMs?: number
}

/** The name under which the journal stores this consumer's position. */
export const FAN_OUT_CONSUMER = 'webhooks'

export function followWebhookEvents({
  db,
  changes,
  clock,
  log,
  pollMs = 1000,
}: FanOutDeps): Follower {
  return follow(db, log, {
    name: FAN_OUT_CONSUMER,
    columns: ['tenant_id', 'action', 'created_at'],
    changes,
    pollMs,
    handle: (tx, entries) => fanOut(tx, entries.filter(isEvent), clock),
  })
}

/** Returns whether an entry is fanned out. Test events are not, because they go directly to a single webhook. */
function isEvent(
  entry: Omit<FanOutEvent, 'tenant_id'> & { tenant_id: number | null },
): entry is FanOutEvent {
  return entry.tenant_id !== null && isPublic(entry.action) && entry.action !== 'webhook.test'
}

/** Creates the deliveries of the events. Returns whether any webhook subscribes to any of the events. */
async function fanOut(
  tx: TenantTx,
  events: readonly FanOutEvent[],
  clock: Clock,
): Promise<boolean> {
  if (events.length === 0) return false
  const iso = isoAt(clock)
  const webhooks = await scheduleQueues(tx, events, iso)
  if (webhooks.length === 0) return false
  sendEnsureDays(tx, events, webhooks)
  insertDeliveries(tx, events, webhooks, iso)
  notifyDue(tx, webhooks)
  return true
}
