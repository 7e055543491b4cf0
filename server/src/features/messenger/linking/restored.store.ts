import type { PgConnection } from '../../../platform/db/index.ts'
import type { Restoring } from '../../../platform/feature/restore-columns.ts'

/**
 * Used when a restore brings back the access rights of the backup. Removes chats that were linked after the backup, and
 * subscriptions that were changed after it. The user who requested the restore keeps their chat and subscriptions.
 */
export async function endLinks(
  client: PgConnection,
  { bringsAccess, instant, orderedBy }: Restoring,
): Promise<void> {
  if (!bringsAccess) return
  await client.query(
    'delete from messenger_links where linked_at > $1 and user_id is distinct from $2',
    [instant, orderedBy],
  )
  await client.query(
    'delete from messenger_subscriptions where updated_at > $1 and user_id is distinct from $2',
    [instant, orderedBy],
  )
}
