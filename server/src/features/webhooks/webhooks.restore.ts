/** After a restore, no receiver gets events of which it has unsubscribed since the backup. */
import type { RestoreColumns, RestoreSteps } from '../../platform/feature/restore-columns.ts'
import { closeCircuits, withOtherUrl } from './restored.store.ts'

const OTHER_URL = 'live.url <> stage.url'
const MORE_EVENTS = `exists (select from unnest(stage.events) as wanted (event)
  where not live.events && array['*', wanted.event, split_part(wanted.event, '.', 1) || '.*'])`
const TELLS_OTHERS = `(${OTHER_URL} or ${MORE_EVENTS})`

export const WEBHOOK_COLUMNS = {
  webhooks: {
    // A webhook is restored as inactive if the backup contains another URL or more events than the current row.
    data: ['id', 'tenant_id', 'url', 'events', 'created_at'],
    access: {
      is_active: {
        merged: `stage.is_active and live.is_active and not ${TELLS_OTHERS}`,
        deleted: 'false',
      },
      disabled_reason: {
        merged: `case when ${TELLS_OTHERS} then 'admin'
          else coalesce(live.disabled_reason, stage.disabled_reason) end`,
        deleted: `'admin'`,
      },
    },
    reported: {
      is_active: 'stage.is_active and not live.is_active',
      secret: `exists (select from stage_webhook_secrets past join webhook_secrets today using (webhook_id)
        where webhook_id = stage.id and past.id <> today.id
          and past.expires_at is null and today.expires_at is null)`,
      url: `stage.is_active and ${OTHER_URL}`,
      events: `stage.is_active and ${MORE_EVENTS}`,
    },
  },
  webhook_secrets: {
    data: ['id', 'tenant_id', 'webhook_id', 'sealed_secret', 'expires_at', 'created_at'],
    owner: { table: 'webhooks', column: 'webhook_id' },
    // Only the current secret of a webhook has no expiry.
    parked: { column: 'expires_at', value: 'coalesce(live.expires_at, now())' },
  },
} as const satisfies RestoreColumns

export const WEBHOOK_STEPS: RestoreSteps = {
  /** Resets circuit breakers of webhooks whose URL changes, after the commit, because the engine also writes queues. */
  async before(client) {
    const redirected = await withOtherUrl(client)
    return redirected.length === 0 ? undefined : (after) => closeCircuits(after, redirected)
  },
}
