/** The figures of webhooks: one webhook with its state, and the deliveries of each webhook per hour. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { firstHour, HOURS, total } from '../../../lib/hours.ts'
import { orNotFound } from '../../../lib/problems.ts'
import type { Admin } from '../../../platform/access/index.ts'
import type { Scopes } from '../../../platform/db/index.ts'
import { findWebhook, listWebhooks } from '../registrations/registrations.store.ts'
import { livingSecrets } from '../registrations/secrets.store.ts'
import type { WebhookDetails, WebhookStats } from '../webhooks.schema.ts'
import { countPerWebhook, type WebhookHour } from './overview.store.ts'
import { countWaiting, findLastFailure } from './stats.store.ts'

export interface WebhookFigures {
  /** Returns a webhook with its figures of the last 24 hours. */
  find(caller: Admin, webhookId: number): Promise<WebhookDetails>
  /** Returns the figures of all webhooks of the tenant, in the order of their ids. */
  list(caller: Admin): Promise<WebhookStats[]>
}

export function webhookFigures({ db, clock }: { db: Scopes; clock: Clock }): WebhookFigures {
  return {
    find: ({ tenant_id }, id) =>
      db.inTenant(
        tenant_id,
        async (tx) => {
          const since = firstHour(clock.now())
          const webhook = orNotFound(await findWebhook(tx, id), 'webhook')
          const secrets = await livingSecrets(tx, id, isoAt(clock))
          const hours = await countPerWebhook(tx, since, id)
          return {
            ...webhook,
            waiting: await countWaiting(tx, id),
            last_failure: (await findLastFailure(tx, id)) ?? null,
            previous_secret_until: secrets[1]?.expires_at ?? null,
            stats: statsOf(since, hours),
          }
        },
        'read',
      ),

    list: ({ tenant_id }) =>
      db.inTenant(
        tenant_id,
        async (tx) => {
          const since = firstHour(clock.now())
          const webhooks = await listWebhooks(tx)
          const hours = Map.groupBy(
            await countPerWebhook(tx, since),
            ({ webhook_id }) => webhook_id,
          )
          return webhooks.map(({ id }) => ({
            webhook_id: id,
            ...statsOf(since, hours.get(id) ?? []),
          }))
        },
        'read',
      ),
  }
}

/** Fills the hours without deliveries with zeros. */
function statsOf(since: string, hours: readonly WebhookHour[]): WebhookDetails['stats'] {
  const series = (result: 'delivered' | 'failed') =>
    Array.from({ length: HOURS }, (_, hour) =>
      Math.round(hours.find((found) => found.hour === hour)?.[result] ?? 0),
    )
  const hourly = { delivered: series('delivered'), failed: series('failed') }
  return {
    since,
    delivered: total(hourly.delivered),
    failed: total(hourly.failed),
    is_estimate: hours.some(({ is_estimate }) => is_estimate),
    hourly,
  }
}
