/** Plans of the counts over time: they read the rows of the period and the series, and no others. */
import { describe, expect, test } from 'vitest'
import { sumCounts } from '../../src/features/stats/stats.store.ts'
import { DAY } from '../../src/lib/clock.ts'
import { explained, type Plan, type PlanDatabase, rowsRead } from './explain.ts'
import { LARGE_TENANT } from './furnish.ts'

const START = Date.parse('2026-02-10T00:00:00Z')
const boundsOf = (days: number) =>
  Array.from({ length: days + 1 }, (_, n) => new Date(START + n * DAY).toISOString())

const isSequential = (plan: Plan): boolean =>
  plan['Node Type'] === 'Seq Scan' && plan['Relation Name'] === 'stats'
    ? true
    : (plan.Plans ?? []).some(isSequential)

/** Declares the tests of the counts over time. */
export function statsPlans(at: () => PlanDatabase): void {
  describe('counts over time', () => {
    test.each([
      { tenantId: LARGE_TENANT, days: 1, maxRows: 96 * 3 * 2 },
      { tenantId: LARGE_TENANT, days: 30, maxRows: 30 * 96 * 3 * 2 },
      { tenantId: null, days: 1, maxRows: 96 * 3 * 3 },
    ])(
      'are read along an index: $days days of tenant $tenantId',
      async ({ tenantId, days, maxRows }) => {
        const { plans, value } = await explained(
          at(),
          tenantId,
          (tx) => sumCounts(tx, ['changes', 'deliveries_delivered'], boundsOf(days)),
          { mode: 'force_generic_plan' },
        )
        expect(value.length).toBeGreaterThanOrEqual(days * 2)
        expect(plans.some(isSequential)).toBe(false)
        const rows = plans.reduce(
          (sum, plan) => sum + rowsRead(plan, (node) => node['Relation Name'] === 'stats'),
          0,
        )
        expect(rows).toBeLessThanOrEqual(maxRows)
      },
    )
  })
}
