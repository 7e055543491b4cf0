import type { PgConnection } from '../../platform/db/index.ts'

/** Returns the ids of webhooks whose URL the restore changes. Call this before the restore writes the rows. */
export async function withOtherUrl(client: PgConnection): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    'select live.id from webhooks live join stage_webhooks stage on stage.id = live.id where live.url <> stage.url',
  )
  return rows.map(({ id }) => id)
}

/** Resets circuit breakers of webhooks with a new URL, because earlier failures concern the former receiver. */
export async function closeCircuits(
  client: PgConnection,
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
