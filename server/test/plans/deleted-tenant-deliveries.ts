/** The cost of the search for leftover deliveries of a deleted tenant. */
import { expect, test } from 'vitest'
import { findAnyWebhook } from '../../src/features/webhooks/upkeep/upkeep.store.ts'
import { explained, type PlanDatabase, pagesRead } from './explain.ts'
import { DELIVERY_DAYS, TENANT_WITHOUT_DELIVERIES, WEBHOOKS_WITH_DELIVERIES } from './furnish.ts'

/** Counts the pages that the search reads for a tenant without deliveries. */
export async function pagesOfSearch(at: PlanDatabase): Promise<number> {
  const { plans, value } = await explained(at, null, (tx) =>
    findAnyWebhook(tx, TENANT_WITHOUT_DELIVERIES),
  )
  expect(value).toBeUndefined()
  return pagesRead(plans)
}

/** Declares the tests of the search. `pagesBefore` is its cost before the planner had statistics. */
export function leftoverPlans(at: () => PlanDatabase, pagesBefore: () => number): void {
  test('the cost of searching leftover deliveries depends on webhooks and days, not on rows', async () => {
    // The probes in deliveries and attempts. Each probe descends the index of each day and reads one row.
    const probes = 2 * (WEBHOOKS_WITH_DELIVERIES.length + 1) * DELIVERY_DAYS
    for (const pages of [pagesBefore(), await pagesOfSearch(at())])
      expect(pages).toBeLessThan(probes * 4)
  })
}
