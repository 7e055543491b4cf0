/** The SQL of the inbox's faults: what nobody works on, what came to nothing, and runs that do not end. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import { freeAt } from '../inbox/claims.store.ts'
import type { Provider, Reason } from '../payment-facts.ts'
import type { NotificationState } from '../payments.table.ts'

/** More than a confirmation mends. */
const MOST = 1_000

export interface FaultyNotification {
  id: number
  tenant_id: number | null
  provider: Provider
  state: NotificationState
  reason: Reason | null
  attempts: number
  since: string
}

const COLUMNS = sql`id, tenant_id, provider, state, reason, attempts`

const isLiving = sql`(tenant_id is null
  or tenant_id not in (select id from tenants where deleted_at is not null))`

/** When one that waits should have been claimed: since before, or beyond what a right clock writes. */
export interface Unclaimed {
  before: string
  beyond: string
}

const isUnclaimed = ({ before, beyond }: Unclaimed) => sql`state = 'received'
  and (${freeAt} < ${before}::timestamptz or ${freeAt} > ${beyond}::timestamptz)`

/** Those that nobody has claimed, though they are due or should be. */
export async function listUnclaimed(
  tx: TenantTx,
  unclaimed: Unclaimed,
): Promise<FaultyNotification[]> {
  const { rows } = await sql<FaultyNotification>`
    select ${COLUMNS}, ${freeAt} as since from payment_notifications
    where provider in ('cardnet', 'paygate') and ${isUnclaimed(unclaimed)} and ${isLiving}
    order by id limit ${MOST}`.execute(tx.db)
  return rows
}

/** Those that have failed for these reasons. */
export async function listFailed(
  tx: TenantTx,
  reasons: readonly Reason[],
): Promise<FaultyNotification[]> {
  const { rows } = await sql<FaultyNotification>`
    select ${COLUMNS}, processed_at as since from payment_notifications
    where state = 'failed' and state not in ('received', 'applied')
      and reason = any(${reasons}::text[]) and ${isLiving}
    order by id limit ${MOST}`.execute(tx.db)
  return rows
}

/** Has one that waits unclaimed worked on now. Returns whether it still did. */
export async function makeDue(
  tx: TenantTx,
  id: number,
  { now, ...unclaimed }: Unclaimed & { now: string },
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update payment_notifications set due_at = ${now}::timestamptz, leased_until = null
    where id = ${id} and ${isUnclaimed(unclaimed)}`.execute(tx.db)
  return numAffectedRows > 0n
}

/** What has become of one; undefined where it is not there. */
export async function outcomeOf(
  tx: TenantTx,
  id: number,
): Promise<Pick<FaultyNotification, 'state' | 'reason'> | undefined> {
  return tx.db
    .selectFrom('payment_notifications')
    .select(['state', 'reason'])
    .where('id', '=', id)
    .executeTakeFirst()
}

export interface LateRun {
  provider: Provider
  failures: number
  is_refused: boolean
  reconciled_to: string | null
  due_at: string
  attempts: number
  leased_until: string | null
}

const RUN = [
  'provider',
  'failures',
  'is_refused',
  'reconciled_to',
  'due_at',
  'attempts',
  'leased_until',
] as const

export function findRun(tx: TenantTx, provider: Provider): Promise<LateRun | undefined> {
  return tx.db
    .selectFrom('payment_reconciliations')
    .select(RUN)
    .where('provider', '=', provider)
    .executeTakeFirst()
}
