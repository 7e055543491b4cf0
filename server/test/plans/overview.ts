/** Plans of the overview: no statement scans a table that grows with users, entries or deliveries. */
import { describe, expect, test } from 'vitest'
import { listLatestChanges } from '../../src/features/audit/overview.store.ts'
import { countDepartments } from '../../src/features/departments/departments.store.ts'
import { estimatePatients } from '../../src/features/patients/upkeep/upkeep.store.ts'
import { findStuck } from '../../src/features/payments/upkeep/overview.store.ts'
import { countActive, findWaiting } from '../../src/features/users/overview.store.ts'
import {
  countWebhookStates,
  findFailing,
  MAX_WAITING,
} from '../../src/features/webhooks/overview/overview.store.ts'
import { EXACT_TOTAL } from '../../src/lib/page.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { explained, type Plan, type PlanDatabase, rowsRead } from './explain.ts'
import { LARGE_TENANT, NOTIFIED_TENANT } from './furnish.ts'

const GROWING = /^(users|patients|journal|webhook_(deliveries|attempts)|payment_notifications)/

/** Returns the growing tables that a plan scans completely, except partitions that are still empty. */
function scanned(plan: Plan): string[] {
  const below = (plan.Plans ?? []).flatMap(scanned)
  const table = plan['Relation Name'] ?? ''
  const isScanned =
    plan['Node Type'] === 'Seq Scan' && GROWING.test(table) && plan['Shared Hit Blocks'] > 0
  return isScanned ? [table, ...below] : below
}

/**
 * The start of the overview's day. The journal of the filled database is in the next month, with one entry every 20
 * seconds.
 */
const since = () => {
  const today = new Date()
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 3)).toISOString()
}

type Read = (tx: TenantTx, tenantId: number | null) => Promise<unknown>

const PARTS: [name: string, read: Read, maxRows: number][] = [
  // Every 200th user is pending, and every 100th is not active.
  ['registrations', findWaiting, 100 + 1],
  ['users', countActive, EXACT_TOTAL + 1 + 200],
  ['departments', countDepartments, EXACT_TOTAL + 1],
  ['patients', estimatePatients, EXACT_TOTAL + 1],
  // In the filled journal, every tenth entry of the large tenant is a change.
  ['latest changes', (tx) => listLatestChanges(tx, 5), 1_000],
  ['failing webhooks', (tx) => findFailing(tx, since(), 3), 200],
  [
    'payment notifications',
    (tx) => findStuck(tx, NOTIFIED_TENANT, ['cardnet', 'paygate']),
    EXACT_TOTAL,
  ],
]

const PARTS_OF_TENANT: [name: string, read: Read, maxRows: number][] = [
  ['waiting deliveries', countWebhookStates, MAX_WAITING + 100],
]

/** Declares the tests of the parts of the overview. */
export function overviewPlans(at: () => PlanDatabase): void {
  const of = (tenantId: number | null, parts: typeof PARTS) =>
    parts.map(([name, read, maxRows]) => ({ name, read, maxRows, tenantId }))
  const cases = [
    ...of(LARGE_TENANT, [...PARTS, ...PARTS_OF_TENANT]),
    ...of(NOTIFIED_TENANT, [...PARTS, ...PARTS_OF_TENANT]),
    ...of(null, PARTS),
  ]

  describe('the overview', () => {
    test.each(cases)(
      'reads few rows for $name of tenant $tenantId, along indexes',
      async (part) => {
        const { plans } = await explained(
          at(),
          part.tenantId,
          (tx) => part.read(tx, part.tenantId),
          {
            mode: 'force_generic_plan',
          },
        )
        expect(plans.length).toBeGreaterThan(0)
        expect(plans.flatMap(scanned)).toEqual([])
        const grown = (node: Plan) => GROWING.test(node['Relation Name'] ?? '')
        const rows = plans.reduce((sum, plan) => sum + rowsRead(plan, grown), 0)
        expect(rows).toBeLessThanOrEqual(part.maxRows)
      },
    )
  })
}
