import { sql } from 'kysely'
import { DAY } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { OutdatedRows } from '../../../platform/feature/outdated.ts'
import { DROPPED_AFTER } from '../sending/pace.ts'
import '../messenger.table.ts'

const outdated = (
  table: string,
  key: readonly string[],
  time: string,
  keptMs: number,
): OutdatedRows => ({
  table,
  key,
  keptMs,
  isBefore: (at) => sql`${sql.ref(time)} < ${at}::timestamptz`,
})

/** How long records of handled updates are stored. The provider never resends an update that is older than a day. */
const UPDATES_KEPT = 2 * DAY

export const OUTDATED_CHAT_ROWS: readonly OutdatedRows[] = [
  outdated('messenger_codes', ['chat_hash'], 'expires_at', 0),
  outdated('messenger_replies', ['id'], 'expires_at', 0),
  outdated('messenger_updates', ['bot_id', 'update_id'], 'taken_at', UPDATES_KEPT),
  outdated('messenger_notices', ['id'], 'event_at', DROPPED_AFTER),
]

/** Deletes up to `limit` chats created before `at` without a link or messages. Returns how many were deleted. */
export async function deleteChats(tx: TenantTx, at: string, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from messenger_chats where hash in (
      select c.hash from messenger_chats c
      where c.due_at is null and c.created_at < ${at}::timestamptz
        and not exists (select from messenger_links l where l.chat_hash = c.hash)
        and not exists (select from messenger_replies r where r.chat_hash = c.hash)
      limit ${limit} for update skip locked)`.execute(tx.db)
  return Number(numAffectedRows)
}

/** Deletes up to `limit` notices of a tenant, then its links and subscriptions. Returns whether more may be left. */
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
