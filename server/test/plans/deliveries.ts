/** Plans of the filters of deliveries: a page reads about as many rows as it shows. */
import { describe, expect, test } from 'vitest'
import {
  type DeliveryFilter,
  listDeliveries,
} from '../../src/features/webhooks/deliveries/deliveries.store.ts'
import { countPerWebhook } from '../../src/features/webhooks/overview/overview.store.ts'
import { countWaiting, findLastFailure } from '../../src/features/webhooks/overview/stats.store.ts'
import { countFailed } from '../../src/features/webhooks/replays/previews.store.ts'
import { listReplays } from '../../src/features/webhooks/replays/replays.store.ts'
import { deliveryList } from '../../src/features/webhooks/webhooks.schema.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { explained, type PlanDatabase, rowsRead } from './explain.ts'
import { DELIVERIES_PER_WEBHOOK, LARGE_TENANT } from './furnish.ts'

const WEBHOOK = 1
const LIMIT = 20
/** A page with one more row, counted in each of the six daily partitions, and its total up to the exact limit. */
const PAGE_ROWS = 6 * (LIMIT + 1)

const query = { limit: LIMIT, sort_by: 'id', sort_order: 'desc' } as const
const asked = {
  list: deliveryList(WEBHOOK),
  caller: { id: 1, tenant_id: LARGE_TENANT },
  query: { ...query, event: 'rare' },
  from: { key: [DELIVERIES_PER_WEBHOOK + 1], total: 0 },
} as never

const page = (filter: DeliveryFilter) => (tx: TenantTx) =>
  listDeliveries(tx, WEBHOOK, filter, asked)
const since = new Date(Date.now() - 86_400_000).toISOString()
const span = { webhook_id: WEBHOOK, since, until: new Date().toISOString() }

const READS: [name: string, read: (tx: TenantTx) => Promise<unknown>, maxRows: number][] = [
  ['a rare event', page({ event: 'user.blocked' }), PAGE_ROWS],
  ['a class of response', page({ failureClass: 5 }), PAGE_ROWS],
  ['a class of response and a status', page({ failureClass: 5, status: 'failed' }), PAGE_ROWS],
  ['the latest failure', (tx) => findLastFailure(tx, WEBHOOK), 4 * 8],
  ['waiting deliveries', (tx) => countWaiting(tx, WEBHOOK), 1_000 + 6],
  ['failed deliveries of a period', (tx) => countFailed(tx, span), 100],
  ['replays', (tx) => listReplays(tx, WEBHOOK), 10],
  ['figures of all webhooks', (tx) => countPerWebhook(tx, since), 9_600 + 2_000],
]

/** Declares the tests of the filters of deliveries. */
export function deliveryPlans(at: () => PlanDatabase): void {
  describe('the deliveries of a webhook', () => {
    test.each(READS)('read few rows for %s', async (_name, read, maxRows) => {
      const { plans } = await explained(at(), LARGE_TENANT, read, { mode: 'force_custom_plan' })
      expect(plans.length).toBeGreaterThan(0)
      expect(plans.reduce((sum, plan) => sum + rowsRead(plan), 0)).toBeLessThanOrEqual(maxRows)
    })
  })
}
