/** Follows the journal and queues notices. The same transaction advances the position in the journal. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { Changes, Scopes, TenantTx } from '../../../platform/db/index.ts'
import {
  type Follower,
  follow,
  isPublic,
  type JournalEntry,
} from '../../../platform/journal/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { TOPIC_DUE } from '../messenger.table.ts'
import { insertNotices, makeChatsDue, matchEvents, type NoticeEvent } from './notices.store.ts'

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
  /** Milliseconds between polls of the journal if no notification arrives. The default is 1000. */
  pollMs?: number
}

/** The name under which the journal stores this consumer's position. */
export const NOTICE_CONSUMER = 'messenger'

export function followNoticeEvents({
  db,
  changes,
  clock,
  log,
  pollMs = 1000,
}: QueueDeps): Follower {
  return follow(db, log, {
    name: NOTICE_CONSUMER,
    columns: COLUMNS,
    changes,
    pollMs,
    handle: (tx, entries) => queueEvents(tx, entries.flatMap(eventOf), isoAt(clock)),
  })
}

/** Returns the events of a journal entry, or an empty list if chats get no notice of it. Exported for its test. */
export function eventOf(entry: Entry): NoticeEvent[] {
  const { id, tenant_id, action, created_at } = entry
  if (tenant_id === null || !isPublic(action) || action === 'webhook.test') return []
  return [{ id, tenant_id, action, subject: noticeSubjectOf(entry), created_at }]
}

/** Returns the user that an entry is about, or otherwise the acting user. */
export function noticeSubjectOf(
  entry: Pick<Entry, 'resource_type' | 'resource_id' | 'user_id'>,
): number | null {
  const { resource_type, resource_id, user_id } = entry
  return resource_type === 'user' && resource_id !== null ? Number(resource_id) : user_id
}

/** Queues notices of the events. Returns whether any chat gets any of the events. */
async function queueEvents(
  tx: TenantTx,
  events: readonly NoticeEvent[],
  now: string,
): Promise<boolean> {
  if (events.length === 0) return false
  const pairs = await matchEvents(tx, events)
  if (pairs.length === 0) return false
  const chats = new Map(pairs.map(({ chat_hash }) => [chat_hash.toString('hex'), chat_hash]))
  await makeChatsDue(tx, [...chats.values()], now)
  await insertNotices(tx, pairs, now)
  tx.notify(TOPIC_DUE)
  return true
}
