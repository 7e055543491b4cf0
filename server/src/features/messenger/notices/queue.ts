/** Follows the journal and queues each event for the chats that hear of it, in the transaction that moves on. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Changes, Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type Follower,
  follow,
  isPublic,
  type JournalEntry,
} from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { TOPIC_DUE } from '../topics.ts'
import { type Event, insertNotices, makeChatsDue, matchEvents } from './notices.store.ts'

const COLUMNS = [
  'tenant_id',
  'action',
  'resource_type',
  'resource_id',
  'user_id',
  'created_at',
] as const
type Entry = Pick<JournalEntry, (typeof COLUMNS)[number] | 'id'>

export interface QueueDeps {
  db: Scopes
  changes: Changes
  clock: Clock
  log: Logger
  /** Milliseconds between looks when nothing wakes it; a second unless a test says otherwise. */
  pollMs?: number
}

/** Under which its position is kept. */
export const CONSUMER = 'messenger'

export function followEvents({ db, changes, clock, log, pollMs = 1000 }: QueueDeps): Follower {
  return follow(db, log, {
    name: CONSUMER,
    columns: COLUMNS,
    changes,
    pollMs,
    handle: (tx, entries) => queueEvents(tx, entries.flatMap(eventOf), isoAt(clock)),
  })
}

/** Exported for its test. */
export function eventOf(entry: Entry): Event[] {
  const { id, tenant_id, action, created_at } = entry
  if (tenant_id === null || !isPublic(action) || action === 'webhook.test') return []
  return [{ id, tenant_id, action, subject: subjectOf(entry), created_at }]
}

/** The user whose account it is about: who is named as the record, else who did it. */
export function subjectOf(
  entry: Pick<Entry, 'resource_type' | 'resource_id' | 'user_id'>,
): number | null {
  const { resource_type, resource_id, user_id } = entry
  return resource_type === 'user' && resource_id !== null ? Number(resource_id) : user_id
}

/** Returns whether any chat hears of any of the events. */
async function queueEvents(tx: TenantTx, events: readonly Event[], now: string): Promise<boolean> {
  if (events.length === 0) return false
  const pairs = await matchEvents(tx, events)
  if (pairs.length === 0) return false
  const chats = new Map(pairs.map(({ chat_hash }) => [chat_hash.toString('hex'), chat_hash]))
  await makeChatsDue(tx, [...chats.values()], now)
  await insertNotices(tx, pairs, now)
  tx.notify(TOPIC_DUE)
  return true
}
