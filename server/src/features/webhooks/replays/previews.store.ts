/** SQL that counts the events of a replay before it starts. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { TEST_EVENT } from '../events/subscription.ts'
import '../../../platform/journal/journal.table.ts'
import '../webhooks.table.ts'

/** The maximum number of rows that a preview reads, and of deliveries that the list counts for each replay. */
export const MAX_COUNTED = 100_000

/** The period of a replay of a webhook. */
interface Period {
  webhook_id: number
  since: string
  until: string
}

/** The rows that a preview has read, and how many of them a replay would queue. */
export interface PreviewCount {
  read: number
  count: number
}

/** Counts the events of a period with one of these actions, among its first 100,000 entries. */
export async function countEvents(
  tx: TenantTx,
  { since, until }: Pick<Period, 'since' | 'until'>,
  actions: readonly string[],
): Promise<PreviewCount> {
  const { rows } = await sql<PreviewCount>`
    select count(*) as read, count(*) filter (where action = any(${[...actions]}::text[])) as count
    from (
      select action from journal
      where tenant_id = ${tx.tenantId} and not is_access
        and created_at between ${since}::timestamptz and ${until}::timestamptz
      order by created_at limit ${sql.lit(MAX_COUNTED)}) entries`.execute(tx.db)
  return rows[0] as PreviewCount
}

/** Counts the deliveries of a period that failed for good, up to 100,000. */
export async function countFailed(
  tx: TenantTx,
  { webhook_id, since, until }: Period,
): Promise<PreviewCount> {
  const { rows } = await sql<PreviewCount>`
    select count(*) as read, count(*) as count from (
      select from webhook_deliveries
      where tenant_id = ${tx.tenantId} and webhook_id = ${webhook_id} and status = 'failed'
        and event <> ${TEST_EVENT}
        and event_at between ${since}::timestamptz and ${until}::timestamptz
      limit ${sql.lit(MAX_COUNTED)}) failed`.execute(tx.db)
  return rows[0] as PreviewCount
}
