/** SQL of sending messages: finds due chats, and records the results. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Rank } from './budget.ts'
import '../messenger.table.ts'

export interface DueChat {
  hash: Buffer
  rank: Rank
  due_at: string
  gap: number
  failures: number
  digest_at: string | null
}

/**
 * Returns chats of a rank with queued messages, earliest due time first. Includes chats that are not due yet.
 * @param busy the hashes of chats with a message in flight, which are left out
 */
export async function findFirst(
  tx: TenantTx,
  rank: Rank,
  { limit, busy }: { limit: number; busy: readonly Buffer[] },
): Promise<DueChat[]> {
  const { rows } = await sql<Omit<DueChat, 'rank'>>`
    select c.hash, c.due_at, c.gap, c.failures, c.digest_at
    from messenger_chats c left join messenger_links l on l.chat_hash = c.hash
    where c.due_at is not null and c.hash <> all(${[...busy]}::bytea[])
      and case when l.id is null then 'stranger' when c.failures > 0 then 'failing' else 'known' end
        = ${rank}
    order by c.due_at limit ${limit}`.execute(tx.db)
  return rows.map((row) => ({ ...row, rank }))
}

export interface WaitingReply {
  id: number
  sealed_reply: Buffer
}

/** Returns the oldest waiting reply to the chat that has not expired. */
export function findReply(
  tx: TenantTx,
  hash: Buffer,
  now: string,
): Promise<WaitingReply | undefined> {
  return tx.db
    .selectFrom('messenger_replies')
    .select(['id', 'sealed_reply'])
    .where('chat_hash', '=', hash)
    .where('expires_at', '>', now)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

export interface SendingLink {
  id: number
  tenant_id: number
  user_id: number
  sealed_chat: Buffer
  refusals: number
  refused_since: string | null
}

export function findLinkOfChat(tx: TenantTx, hash: Buffer): Promise<SendingLink | undefined> {
  return tx.db
    .selectFrom('messenger_links')
    .select(['id', 'tenant_id', 'user_id', 'sealed_chat', 'refusals', 'refused_since'])
    .where('chat_hash', '=', hash)
    .executeTakeFirst()
}

/** Locks the chat until the transaction ends. Queueing waits for this lock, so later statements see all messages. */
export async function lockChat(tx: TenantTx, hash: Buffer): Promise<void> {
  await tx.db
    .selectFrom('messenger_chats')
    .select('hash')
    .where('hash', '=', hash)
    .forUpdate()
    .execute()
}

export async function deleteReply(tx: TenantTx, id: number): Promise<void> {
  await tx.db.deleteFrom('messenger_replies').where('id', '=', id).execute()
}

export async function deleteReplies(tx: TenantTx, hash: Buffer): Promise<void> {
  await tx.db.deleteFrom('messenger_replies').where('chat_hash', '=', hash).execute()
}

/** The new state of a chat. Omitted fields stay as they are. */
export interface ChatState {
  free_at?: string
  digest_at?: string
  gap?: number
  failures?: number
}

/**
 * Saves the state of the chat and when it is due again. The caller must have locked the chat in an earlier statement.
 * Without the lock, this statement could miss messages that are queued at the same time. They would then wait for the
 * next event.
 */
export async function settleChat(
  tx: TenantTx,
  hash: Buffer,
  state: ChatState,
  now: string,
): Promise<void> {
  if (Object.keys(state).length > 0)
    await tx.db.updateTable('messenger_chats').set(state).where('hash', '=', hash).execute()
  await sql`
    update messenger_chats c set due_at = case
      when exists (select from messenger_replies r
        where r.chat_hash = c.hash and r.expires_at > ${now}::timestamptz)
        then greatest(${now}::timestamptz, c.free_at)
      when exists (select from messenger_notices n
          join messenger_links l on l.tenant_id = n.tenant_id and l.id = n.link_id
          where l.chat_hash = c.hash)
        then greatest(${now}::timestamptz, c.free_at, c.digest_at)
      end
    where c.hash = ${hash}`.execute(tx.db)
}

/** Saves how often a linked chat has refused messages, and since when. After an accepted message, saves 0 and null. */
export async function saveRefusals(
  tx: TenantTx,
  link: { id: number; tenant_id: number },
  refusals: number,
  since: string | null,
): Promise<void> {
  await tx.db
    .updateTable('messenger_links')
    .set({ refusals, refused_since: since })
    .where('tenant_id', '=', link.tenant_id)
    .where('id', '=', link.id)
    .execute()
}
