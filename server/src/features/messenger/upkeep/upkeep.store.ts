/** The SQL that throws away what is over. */
import { type RawBuilder, sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../messenger.table.ts'

/** Deletes some rows. Returns how many. */
export type DeleteBatch = (tx: TenantTx, at: string, limit: number) => Promise<number>

const deleteBatch =
  (statement: (at: string, limit: number) => RawBuilder<unknown>): DeleteBatch =>
  async (tx, at, limit) => {
    const { numAffectedRows = 0n } = await statement(at, limit).execute(tx.db)
    return Number(numAffectedRows)
  }

export const deleteCodes = deleteBatch(
  (at, limit) => sql`
    delete from messenger_codes where chat_hash in
      (select chat_hash from messenger_codes where expires_at < ${at}::timestamptz limit ${limit})`,
)

export const deleteReplies = deleteBatch(
  (at, limit) => sql`
    delete from messenger_replies where id in
      (select id from messenger_replies where expires_at < ${at}::timestamptz limit ${limit})`,
)

export const deleteUpdates = deleteBatch(
  (at, limit) => sql`
    delete from messenger_updates where (bot_id, update_id) in
      (select bot_id, update_id from messenger_updates where taken_at < ${at}::timestamptz limit ${limit})`,
)

export const deleteNotices = deleteBatch(
  (at, limit) => sql`
    delete from messenger_notices where id in
      (select id from messenger_notices where event_at < ${at}::timestamptz limit ${limit})`,
)

/** Chats that were made before, are linked with nobody, and for which nothing waits. */
export const deleteChats = deleteBatch(
  (at, limit) => sql`
    delete from messenger_chats where hash in (
      select c.hash from messenger_chats c
      where c.due_at is null and c.created_at < ${at}::timestamptz
        and not exists (select from messenger_links l where l.chat_hash = c.hash)
        and not exists (select from messenger_replies r where r.chat_hash = c.hash)
      limit ${limit} for update skip locked)`,
)

/** Destroys up to `limit` rows of a tenant. Returns whether there may be more. */
export async function purgeRows(tx: TenantTx, tenantId: number, limit: number): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from messenger_notices where id in
      (select id from messenger_notices where tenant_id = ${tenantId} limit ${limit})`.execute(
    tx.db,
  )
  if (numAffectedRows > 0n) return true
  await tx.db.deleteFrom('messenger_links').where('tenant_id', '=', tenantId).execute()
  await tx.db.deleteFrom('messenger_subscriptions').where('tenant_id', '=', tenantId).execute()
  return false
}
