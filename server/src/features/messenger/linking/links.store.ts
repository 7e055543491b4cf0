import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../messenger.table.ts'

export interface NewCode {
  chat_hash: Buffer
  code_hash: Buffer
  sealed_chat: Buffer
  expires_at: string
}

/** Saves a code, which replaces any earlier code of the same chat. */
export async function saveCode(tx: TenantTx, code: NewCode): Promise<void> {
  await tx.db
    .insertInto('messenger_codes')
    .values(code)
    .onConflict((conflict) =>
      conflict.column('chat_hash').doUpdateSet({
        code_hash: code.code_hash,
        sealed_chat: code.sealed_chat,
        expires_at: code.expires_at,
      }),
    )
    .execute()
}

/** Consumes a code and returns its chat, or undefined if invalid. Only one of several concurrent calls succeeds. */
export function takeCode(
  tx: TenantTx,
  code_hash: Buffer,
  now: string,
): Promise<{ chat_hash: Buffer; sealed_chat: Buffer } | undefined> {
  return tx.db
    .deleteFrom('messenger_codes')
    .where('code_hash', '=', code_hash)
    .where('expires_at', '>', now)
    .returning(['chat_hash', 'sealed_chat'])
    .executeTakeFirst()
}

export async function deleteCode(tx: TenantTx, chatHash: Buffer): Promise<void> {
  await tx.db.deleteFrom('messenger_codes').where('chat_hash', '=', chatHash).execute()
}

export interface Link {
  id: number
  tenant_id: number
  user_id: number
  chat_hash: Buffer
  sealed_chat: Buffer
  linked_at: string
}

const LINK = ['id', 'tenant_id', 'user_id', 'chat_hash', 'sealed_chat', 'linked_at'] as const

interface UserKeys {
  tenant_id: number
  user_id: number
}

/** Identifies the current link of a user. With an `id`, matches the link only if it has that id. */
export interface LinkOf extends UserKeys {
  id?: number
}

export function findLink(
  tx: TenantTx,
  { tenant_id, user_id, id }: LinkOf,
): Promise<Link | undefined> {
  return tx.db
    .selectFrom('messenger_links')
    .select(LINK)
    .where('tenant_id', '=', tenant_id)
    .where('user_id', '=', user_id)
    .$if(id !== undefined, (query) => query.where('id', '=', id as number))
    .executeTakeFirst()
}

/** Locks chats. All code must lock a chat before its link, as queueing a message does, to prevent deadlocks. */
export async function lockChats(tx: TenantTx, hashes: readonly Buffer[]): Promise<void> {
  // Locks chats in ascending order of their hashes, as all other transactions do.
  await sql`
    select from messenger_chats where hash = any(${[...hashes]}::bytea[])
    order by hash for update`.execute(tx.db)
}

/** Finds the chat's link, and locks it until the transaction ends. */
export function lockLinkOfChat(tx: TenantTx, chatHash: Buffer): Promise<Link | undefined> {
  return tx.db
    .selectFrom('messenger_links')
    .select(LINK)
    .where('chat_hash', '=', chatHash)
    .forUpdate()
    .executeTakeFirst()
}

/**
 * Deletes the user's link and its waiting notices, while the chat is locked, and returns the link. Deletes the user's
 * current link, even if it has replaced another link in the meantime. With an `id`, deletes only the link with that id.
 */
export async function deleteLink(tx: TenantTx, of: LinkOf, now: string): Promise<Link | undefined> {
  for (;;) {
    const found = await findLink(tx, of)
    if (!found) return undefined
    // In its own transaction, a tenant can lock a chat only by calling `wakeChat`.
    await wakeChat(tx, found.chat_hash, now)
    const deleted = await tx.db
      .deleteFrom('messenger_links')
      .where('tenant_id', '=', found.tenant_id)
      .where('id', '=', found.id)
      .returning(LINK)
      .executeTakeFirst()
    if (deleted) return deleted
  }
}

export async function insertLink(
  tx: TenantTx,
  link: Pick<Link, 'tenant_id' | 'user_id' | 'chat_hash' | 'sealed_chat'>,
): Promise<void> {
  await tx.db.insertInto('messenger_links').values(link).execute()
}

/** Returns the events that the user has chosen, or undefined if the user has not chosen yet. */
export async function findEvents(tx: TenantTx, user: UserKeys): Promise<string[] | undefined> {
  const row = await tx.db
    .selectFrom('messenger_subscriptions')
    .select('events')
    .where('tenant_id', '=', user.tenant_id)
    .where('user_id', '=', user.user_id)
    .executeTakeFirst()
  return row?.events
}

export async function saveEvents(
  tx: TenantTx,
  user: UserKeys,
  events: readonly string[],
): Promise<void> {
  await tx.db
    .insertInto('messenger_subscriptions')
    .values({ ...user, events: [...events] })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({ events: [...events], updated_at: sql`now()` }),
    )
    .execute()
}

/** The owner of the account. The owner gets mails about the link if their address is confirmed. */
export interface Owner {
  email: string
  name: string
  clinic: string
  is_confirmed: boolean
}

export function findOwner(tx: TenantTx, user: UserKeys): Promise<Owner | undefined> {
  return ownerOf(tx, user).executeTakeFirst()
}

/**
 * Locks the owner. Until the transaction ends, no other transaction can link or delete the account. Call this before
 * locking any chat, because the deletion of an account locks in the same order.
 */
export function lockOwner(tx: TenantTx, user: UserKeys): Promise<Owner | undefined> {
  return ownerOf(tx, user).forNoKeyUpdate('users').executeTakeFirst()
}

function ownerOf(tx: TenantTx, user: UserKeys) {
  return tx.db
    .selectFrom('users')
    .innerJoin('tenants', 'tenants.id', 'users.tenant_id')
    .select([
      'users.email',
      'users.full_name as name',
      'tenants.name as clinic',
      sql<boolean>`users.email_verified_at is not null`.as('is_confirmed'),
    ])
    .where('users.id', '=', user.user_id)
    .where('users.tenant_id', '=', user.tenant_id)
}

export interface NewReply {
  chat_hash: Buffer
  is_answer: boolean
  sealed_reply: Buffer
  expires_at: string
}

/** Makes the chat due as soon as its pause ends. The chat stays locked until the transaction ends. */
async function wakeChat(tx: TenantTx, hash: Buffer, now: string): Promise<void> {
  await sql`select wake_chat(${hash}, ${now})`.execute(tx.db)
}

/** Queues a reply, which is sent when the chat's pause has ended. An answer to a command replaces an earlier answer. */
export async function insertReply(tx: TenantTx, reply: NewReply, now: string): Promise<void> {
  // Locks the chat first. A process that has just sent to the chat then waits for the lock and sees this reply.
  await wakeChat(tx, reply.chat_hash, now)
  if (reply.is_answer)
    await tx.db
      .deleteFrom('messenger_replies')
      .where('chat_hash', '=', reply.chat_hash)
      .where('is_answer', '=', true)
      .execute()
  await tx.db.insertInto('messenger_replies').values(reply).execute()
}

/** Ends a chat's pause after refusals. Keeps a pause after failures, because the provider may have requested it. */
export async function endRefusal(tx: TenantTx, hash: Buffer, at: string): Promise<void> {
  await tx.db
    .updateTable('messenger_chats')
    .set({ free_at: at })
    .where('hash', '=', hash)
    .where('failures', '=', 0)
    .where('free_at', '>', at)
    .execute()
}

/** Returns whether more than `limit` replies are queued. Further answers to commands must then be dropped. */
export async function hasManyReplies(tx: TenantTx, limit: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('messenger_replies')
    .select('id')
    .orderBy('id')
    .offset(limit)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
