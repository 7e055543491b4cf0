/** Counts the rows that a page of payment notifications reads, even if its filters match few. */
import { describe, expect, test } from 'vitest'
import {
  type NotificationQuery,
  notificationList,
} from '../../src/features/payments/payments.schema.ts'
import { listNotifications } from '../../src/features/payments/records/records.store.ts'
import { explained, type PlanDatabase, rowsRead } from './explain.ts'
import { NOTIFICATIONS, NOTIFIED_TENANT } from './furnish.ts'

const LIMIT = 20
/**
 * The maximum number of rows: the page, one more row that shows whether there is a next page, and the few matching rows
 * of other tenants.
 */
const MAX_ROWS = LIMIT + 1 + 10

const ORDERS = ['id', 'received_at'] as const
const RARE = [
  { provider: 'paygate' },
  { state: 'failed' },
  { state: 'received' },
  { state: 'superseded' },
  { reason: 'unreadable' },
  { provider: 'paygate', reason: 'unreadable' },
] as const

/** Declares the tests of the list of payment notifications. */
export function notificationPlans(at: () => PlanDatabase): void {
  /** Counts the notifications that the first page reads. */
  async function rowsFor(
    tenantId: number | null,
    filters: Partial<NotificationQuery>,
    furnishing = '',
  ): Promise<number> {
    const query: NotificationQuery = { limit: LIMIT, sort_by: 'id', sort_order: 'desc', ...filters }
    const caller = { role: 'superadmin' as const, tenant_id: NOTIFIED_TENANT }
    const asked = { list: notificationList, caller, query, from: undefined }
    const { plans } = await explained(at(), tenantId, (tx) => listNotifications(tx, asked, {}), {
      mode: 'force_custom_plan',
      furnishing,
    })
    const [page] = plans
    if (!page) throw new Error('the list has sent no statement')
    return rowsRead(page, (node) => node['Relation Name'] === 'payment_notifications')
  }

  describe.each([
    ['all tenants', null],
    ['a tenant', NOTIFIED_TENANT],
  ])('listing payment notifications of %s', (_whose, tenantId) => {
    const pages = ORDERS.flatMap((sort_by) => RARE.map((filter) => ({ ...filter, sort_by })))

    test.each(pages)('reads little more than the page when few match %j', async (filters) => {
      expect(await rowsFor(tenantId, filters)).toBeLessThanOrEqual(MAX_ROWS)
    })
  })

  test('reads little more than the page for a provider whose notifications are all old', async () => {
    const old = `update payment_notifications set provider = 'paygate' where id <= ${NOTIFICATIONS / 2};
      analyze payment_notifications`
    expect(await rowsFor(null, { provider: 'paygate' }, old)).toBeLessThanOrEqual(MAX_ROWS)
  })
}
