/** Composes the next message to a chat: a reply, or one digest of all waiting events. */
import { isoAt } from '../../../lib/clock.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Chats } from '../linking/chats.ts'
import { SEALED_REPLIES, type SealedReply } from '../linking/replies.ts'
import {
  countWaitingNotices,
  findPeople,
  firstWaiting,
  type WaitingEntry,
  type WaitingNotices,
} from '../notices/notices.store.ts'
import { noticeSubjectOf } from '../notices/queue.ts'
import { digestOf, MAX_LINES } from '../text/digest.ts'
import { type DescribedEvent, field, lineOf, type ShowAmount } from '../text/lines.ts'
import { shownName } from '../text/names.ts'
import { DROPPED_AFTER, LATE_AFTER } from './pace.ts'
import { findLinkOfChat, findReply, type SendingLink } from './sending.store.ts'

/** The next message to a chat. `lastId` is the id of the last notice that the message covers. */
export type Composed =
  | { kind: 'reply'; id: number; chatId: number; text: string; link: SendingLink | undefined }
  | {
      kind: 'digest'
      lastId: number
      chatId: number
      text: string
      link: SendingLink
      /** When the first notice of the digest was queued, ISO 8601. */
      queuedAt: string
    }
  /** There is nothing to send. The user no longer gets the notices up to `lastId`, which can be deleted. */
  | { kind: 'nothing'; link: SendingLink | undefined; lastId: number }

const BEFORE_ALL = new Date(0).toISOString()

export interface ComposeDeps {
  db: Pick<Scopes, 'clock' | 'agreedClock'>
  chats: Chats
  showAmount: ShowAmount
}

export type Compose = (tx: TenantTx, hash: Buffer) => Promise<Composed>

export function composer({ db: { clock, agreedClock }, chats, showAmount }: ComposeDeps): Compose {
  return async (tx, hash) => {
    const reply = await findReply(tx, hash, isoAt(clock))
    const link = await findLinkOfChat(tx, hash)
    if (reply) {
      const { chatId, text } = chats.open<SealedReply>(SEALED_REPLIES, hash, reply.sealed_reply)
      return { kind: 'reply', id: reply.id, chatId, text, link }
    }
    if (!link) return { kind: 'nothing', link, lastId: 0 }
    const late = isoAt(clock, -LATE_AFTER)
    // Drops no notices while the clock may be wrong.
    const dropped = agreedClock.agrees() ? isoAt(clock, -DROPPED_AFTER) : BEFORE_ALL
    const waiting = await countWaitingNotices(tx, link, { late, dropped })
    const lastId = Math.max(0, ...waiting.map(({ last_id }) => last_id))
    const subscribed = waiting.filter(({ is_subscribed }) => is_subscribed)
    if (subscribed.length === 0) return { kind: 'nothing', link, lastId }
    const lines = subscribed.some(({ is_late }) => !is_late)
      ? await firstWaiting(tx, link, subscribed, { lastId, late, limit: MAX_LINES })
      : []
    const described = await describeEvents(tx, link, lines)
    const text = digestOf({
      lines: described.map((event) => lineOf(event, showAmount)),
      actions: lines.map(({ action }) => action),
      counts: countsOf(subscribed),
    })
    const { id: chatId } = await chats.openOf(tx, link)
    const queuedAt = subscribed.map(({ first_queued_at }) => first_queued_at).sort()[0] as string
    return { kind: 'digest', lastId, chatId, text, link, queuedAt }
  }
}

function countsOf(subscribed: readonly WaitingNotices[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { action, count } of subscribed) counts.set(action, (counts.get(action) ?? 0) + count)
  return counts
}

/** Adds the current names of users to the entries. For deleted users, adds the last name in the entries. */
async function describeEvents(
  tx: TenantTx,
  link: SendingLink,
  entries: readonly WaitingEntry[],
): Promise<DescribedEvent[]> {
  const ids = entries.flatMap((entry) => [entry.user_id, whoseOf(entry)])
  const known = await findPeople(tx, [...new Set(ids.filter((id) => id !== null))])
  const people = new Map([...deletedIn(entries, link.tenant_id), ...known])
  const nameOf = (id: number): string => {
    const person = people.get(id)
    if (person && person.tenant_id !== link.tenant_id) return 'the platform operator'
    return (person && shownName(person.name)) ?? `user ${id}`
  }
  return entries.map((entry) => {
    const whose = whoseOf(entry)
    const { user_id } = entry
    return {
      action: entry.action,
      at: entry.created_at,
      isOwn: entry.is_own,
      by: user_id === null || user_id === whose ? null : nameOf(user_id),
      whose: whose === null ? null : nameOf(whose),
      resourceType: entry.resource_type ?? '',
      resourceId: entry.resource_id,
      changes: entry.changes,
    }
  })
}

/** Returns the id, last name and tenant of each user whose deletion is among the entries. */
function deletedIn(entries: readonly WaitingEntry[], tenant_id: number) {
  return entries.flatMap((entry) => {
    const [id, name] = [whoseOf(entry), field(entry.changes, 'before', 'full_name')]
    const isDeleted = entry.action === 'user.deleted' && id !== null && typeof name === 'string'
    return isDeleted ? [[id, { name, tenant_id }] as const] : []
  })
}

/** Returns the user whose account a `user` or `auth` event concerns. Returns null for other events. */
function whoseOf({ action, ...entry }: WaitingEntry): number | null {
  const isOfAccount = /^(user|auth)\./.test(action)
  return isOfAccount
    ? noticeSubjectOf({ ...entry, resource_type: entry.resource_type ?? '' })
    : null
}
