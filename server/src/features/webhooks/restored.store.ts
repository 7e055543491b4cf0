/** The SQL of webhooks within a restore. */
import type { Connection } from '../../platform/db/index.ts'

/** Returns the webhooks of the scope that get another URL. Comes before the rows are written. */
export async function withOtherUrl(client: Connection): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'select live.id from webhooks live join stage_webhooks stage on stage.id = live.id where live.url <> stage.url',
  )
  return rows.map(({ id }) => id)
}

/** Closes the circuits of webhooks, because the failures of the former receiver say nothing of the new one. */
export async function closeCircuits(
  client: Connection,
  webhooks: readonly string[],
): Promise<void> {
  await client.query(
    `update webhook_queues set
      due_at = now(), leased_by = null, leased_until = null, epoch = epoch + 1, resets = resets + 1,
      failures = default, failure_share = default, failing_since = null, failed_at = null,
      slots = default, paused_until = null, probed_at = null, answered_at = null
    where webhook_id = any($1)`,
    [webhooks],
  )
}
