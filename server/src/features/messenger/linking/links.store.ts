/** The SQL of codes, links and replies. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../messenger.table.ts'

export interface NewCode {
  chat_hash: Buffer
  code_hash: Buffer
  sealed_chat: Buffer
  expires_at: string
}

/** Keeps the code in place of an earlier one of its chat. */
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

/** Uses up a living code: of many who try at once one gets it. */
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

/** Whose link: whichever they have, or the one of the `id` alone. */
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

/**
 * Locks the chats. Everybody locks a chat before its link, as what is queued for the chat does: whoever
 * came the other way round would wait in a circle.
 */
export async function lockChats(tx: TenantTx, hashes: readonly Buffer[]): Promise<void> {
  // In one order for everybody who needs more than one.
  await sql`
    select from messenger_chats where hash = any(${[...hashes]}::bytea[])
    order by hash for update`.execute(tx.db)
}

/** The chat's link, which nobody else changes until the transaction ends. */
export function lockLinkOfChat(tx: TenantTx, chatHash: Buffer): Promise<Link | undefined> {
  return tx.db
    .selectFrom('messenger_links')
    .select(LINK)
    .where('chat_hash', '=', chatHash)
    .forUpdate()
    .executeTakeFirst()
}

/**
 * Deletes the link, with what waits for it, behind the lock of its chat; also one that has taken its place
 * meanwhile, unless the `id` says which.
 */
export async function deleteLink(tx: TenantTx, of: LinkOf, now: string): Promise<Link | undefined> {
  for (;;) {
    const found = await findLink(tx, of)
    if (!found) return undefined
    // The one way in which a tenant's own transaction may lock it.
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

/** The user's own choice of events; undefined where there is none yet. */
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

/** Whom a mail about a link goes to: the owner of the account, where the address is confirmed. */
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
 * As `findOwner`, and keeps others from linking or deleting the account until the transaction ends. Comes
 * before the lock of any chat, as where an account is deleted.
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

/** Has the chat looked at as soon as it is free. It stays locked until the transaction ends. */
async function wakeChat(tx: TenantTx, hash: Buffer, now: string): Promise<void> {
  await sql`select wake_chat(${hash}, ${now})`.execute(tx.db)
}

/** Has the reply said as soon as the chat is free; a new answer takes an older one's place. */
export async function insertReply(tx: TenantTx, reply: NewReply, now: string): Promise<void> {
  // The chat first, and locked: whoever has just sent to it looks for more behind the lock.
  await wakeChat(tx, reply.chat_hash, now)
  if (reply.is_answer)
    await tx.db
      .deleteFrom('messenger_replies')
      .where('chat_hash', '=', reply.chat_hash)
      .where('is_answer', '=', true)
      .execute()
  await tx.db.insertInto('messenger_replies').values(reply).execute()
}

/**
 * Lets a chat that rests since a refusal be sent to from `at` on. A rest behind failures stays: it may be
 * one that the provider has asked for.
 */
export async function endRefusal(tx: TenantTx, hash: Buffer, at: string): Promise<void> {
  await tx.db
    .updateTable('messenger_chats')
    .set({ free_at: at })
    .where('hash', '=', hash)
    .where('failures', '=', 0)
    .where('free_at', '>', at)
    .execute()
}

/** Whether so many answers wait that another stranger's finds no room. */
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
