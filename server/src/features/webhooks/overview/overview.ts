/** The parts of the overview about webhooks. */
import Type from 'typebox'
import { MINUTE } from '../../../lib/clock.ts'
import { Id, Nullable, OneOf, Timestamp } from '../../../lib/shapes.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type OverviewParts, overviewPart } from '../../../platform/feature/feature.ts'
import { countWebhookStates, findFailing } from './overview.store.ts'

const MAX_NAMED = 3
/** The minimum duration of failures to report. A receiver that has failed for a shorter time may only be restarting. */
const PATIENCE_MS = MINUTE

const REASONS = ['failing', 'deactivated', 'gone'] as const

/** Maps the stored reason of a deactivation to the reason shown in the overview. */
const REASON_OF = { none: 'failing', failing: 'deactivated', gone: 'gone' } as const

const Count = Type.Integer({ minimum: 0, examples: [2] })

export const WEBHOOKS_ATTENTION: OverviewParts = {
  webhooks: overviewPart({
    schema: Type.Object(
      {
        count: Count,
        items: Type.Array(
          Type.Object({
            id: Id,
            tenant_id: Id,
            host: Type.String({
              description: 'The host of the URL, without its path.',
              examples: ['lis.example'],
            }),
            reason: OneOf(REASONS, {
              description:
                '`failing`: every attempt fails. `deactivated`: the receiver failed for too long. `gone`: the receiver responded with 410.',
            }),
            since: Nullable(Timestamp),
          }),
          { description: 'The three webhooks that started to fail last.' },
        ),
      },
      {
        description:
          'The webhooks that have been failing for a minute or longer, and those that the service has deactivated.',
      },
    ),
    async read(tx, { now }) {
      const before = new Date(Date.parse(now) - PATIENCE_MS).toISOString()
      const failing = await findFailing(tx, before, MAX_NAMED)
      return {
        count: failing[0]?.count ?? 0,
        items: failing.map(({ id, tenant_id, url, disabled_reason, since }) => ({
          id,
          tenant_id,
          host: new URL(url).host,
          reason: REASON_OF[disabled_reason ?? 'none'],
          since,
        })),
      }
    },
  }),
}

const isOfTenant = (tx: TenantTx): tx is TenantTx & { tenantId: number } => tx.tenantId !== null

export const WEBHOOKS_FIGURES: OverviewParts = {
  webhooks: overviewPart({
    schema: Type.Object(
      {
        total: Count,
        active: Count,
        waiting: Type.Integer({
          minimum: 0,
          description: 'The waiting deliveries, counted up to 1,000.',
          examples: [12],
        }),
      },
      { description: 'Null for all tenants.' },
    ),
    read: async (tx) => (isOfTenant(tx) ? countWebhookStates(tx) : null),
  }),
}
