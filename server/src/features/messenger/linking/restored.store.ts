/** The SQL of linked chats within a restore. */
import type { Connection } from '../../../platform/db/index.ts'
import type { Restoring } from '../../../platform/restore-columns.ts'

/**
 * With the access of the backup: removes the chats that were linked since, and their subscriptions. The user who
 * orders the restore keeps theirs.
 */
export async function endLinks(
  client: Connection,
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
