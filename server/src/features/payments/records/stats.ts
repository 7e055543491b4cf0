/** The figures of payments by tenant and provider, at a limited cost. */
import { type Clock, DAY } from '../../../lib/clock.ts'
import type { Span } from '../../../lib/span.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { PaymentStats } from '../payments.schema.ts'
import { PAYMENT_STATUSES, type PaymentStatus } from '../states.ts'
import { countByStatus, countTenants, type StatusCount } from './stats.store.ts'

const DEFAULT_PERIOD_MS = 30 * DAY
/** The approximate maximum number of payments that one call reads. */
const MAX_READ = 100_000
const MAX_PER_TENANT = 10_000
const MIN_PER_TENANT = 10
const MAX_ITEMS = 1_000
/** After every possible payment, for a period without an end. */
const FOREVER = '9999-12-31T23:59:59.999Z'

/** Reads the figures in the scope of the transaction. */
export async function readStats(
  tx: TenantTx,
  clock: Clock,
  span: Span,
): Promise<Omit<PaymentStats, 'providers'>> {
  const until = span.until ?? FOREVER
  const end = Math.min(clock.now(), Date.parse(until))
  const from = span.from ?? new Date(end - DEFAULT_PERIOD_MS).toISOString()
  const share = Math.floor(MAX_READ / Math.max(1, await countTenants(tx)))
  const max_per_tenant = Math.min(MAX_PER_TENANT, Math.max(MIN_PER_TENANT, share))
  const counts = await countByStatus(tx, { from, until }, max_per_tenant)
  return { from, max_per_tenant, items: figuresOf(counts) }
}

/** Groups the counts by tenant and provider. Figures with the most failed payments come first. */
export function figuresOf(counts: readonly StatusCount[]): PaymentStats['items'] {
  const groups = Map.groupBy(counts, ({ tenant_id, provider }) => `${tenant_id} ${provider}`)
  const items = [...groups.values()].flatMap((group) => {
    const [first] = group
    if (!first) return []
    const { tenant_id, tenant_name, provider } = first
    const countOf = (status: PaymentStatus) =>
      group.find((one) => one.status === status)?.count ?? 0
    const by_status = Object.fromEntries(
      PAYMENT_STATUSES.map((status) => [status, countOf(status)]),
    ) as Record<PaymentStatus, number>
    const total = group.reduce((sum, { count }) => sum + count, 0)
    const last_at = group.map((one) => one.last_at).reduce((a, b) => (a > b ? a : b))
    return [{ tenant_id, tenant_name, provider, total, by_status, last_at }]
  })
  return items
    .toSorted(
      (a, b) =>
        b.by_status.failed - a.by_status.failed ||
        b.total - a.total ||
        a.tenant_id - b.tenant_id ||
        (a.provider < b.provider ? -1 : 1),
    )
    .slice(0, MAX_ITEMS)
}
