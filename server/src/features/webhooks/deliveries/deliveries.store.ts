/** The SQL of deliveries as administrators see them: listing, queueing again, keeping a test. */
import { sql } from 'kysely'
import type { Asked, Found } from '../../../lib/page.ts'
import { readPage, type Scoped, type TenantTx } from '../../../platform/db/index.ts'
import type { ShownAttempt } from '../webhooks.schema.ts'
import '../webhooks.table.ts'

const COLUMNS = [
  'entry_id as id',
  'webhook_id',
  'event',
  'status',
  'attempts as attempts_count',
  'due_at',
  'event_at as created_at',
  'finished_at',
] as const

/** A delivery as it is kept; whether it is held depends on its webhook. */
export interface KeptDelivery {
  id: number
  webhook_id: number
  event: string
  status: 'pending' | 'delivered' | 'failed'
  attempts_count: number
  due_at: string | null
  created_at: string
  finished_at: string | null
}

export interface DeliveryFilter {
  status?: KeptDelivery['status']
  /** The event by its number and time. */
  entry?: Pick<KeptDelivery, 'id' | 'created_at'>
}

function ofWebhook({ db, tenantId }: Scoped, webhookId: number) {
  return db
    .selectFrom('webhook_deliveries')
    .select(COLUMNS)
    .where('tenant_id', '=', tenantId)
    .where('webhook_id', '=', webhookId)
}

export function listDeliveries(
  tx: TenantTx,
  webhookId: number,
  { status, entry }: DeliveryFilter,
  asked: Asked,
): Promise<Found<KeptDelivery>> {
  return readPage(tx, asked, (scope) => ofWebhook(scope, webhookId), {
    filter(all) {
      let filtered = all
      if (status) filtered = filtered.where('status', '=', status)
      if (entry)
        filtered = filtered
          .where('entry_id', '=', entry.id)
          .where('event_at', '=', entry.created_at)
      return filtered
    },
    columns: { id: 'entry_id' },
  })
}

/** A delivery as it is once all is written down of its tries, which stays so until the transaction ends. */
export function lockDelivery(
  tx: TenantTx,
  webhookId: number,
  id: number,
): Promise<KeptDelivery | undefined> {
  return ofWebhook(tx, webhookId).where('entry_id', '=', id).forUpdate().executeTakeFirst()
}

/** Of one that is retried or replayed without end, a page of the list would be as long as that. */
const SHOWN_ATTEMPTS = 20

/** The latest tries of some deliveries of a webhook, in their order. */
export async function listAttempts(
  tx: TenantTx,
  webhookId: number,
  deliveries: readonly Pick<KeptDelivery, 'id' | 'created_at'>[],
): Promise<(ShownAttempt & { delivery_id: number })[]> {
  if (deliveries.length === 0) return []
  const times = deliveries.map(({ created_at }) => created_at)
  // The first and the last time are said by themselves for the choice of partitions.
  const { rows } = await sql<ShownAttempt & { delivery_id: number }>`
    select d.entry_id as delivery_id, a.*
    from unnest(${deliveries.map(({ id }) => id)}::bigint[], ${times}::timestamptz[])
      as d(entry_id, event_at)
    cross join lateral (
      select number, started_at, duration_ms, status_code, error, detail, address, response_body
      from webhook_attempts
      where tenant_id = ${tx.tenantId} and webhook_id = ${webhookId}
        and entry_id = d.entry_id and event_at = d.event_at
        and event_at between ${times.toSorted()[0]}::timestamptz
          and ${times.toSorted().at(-1)}::timestamptz
      order by number desc, started_at desc limit ${SHOWN_ATTEMPTS}
    ) a order by d.entry_id, a.number, a.started_at`.execute(tx.db)
  return rows
}

/**
 * Has a delivery tried now, and then by the whole schedule, whatever has become of it. It comes before all
 * that waits for the webhook: of a receiver that fails, the first alone may be tried before the next pause.
 * Undefined where it is gone, as a cancelled replay takes its own back.
 */
export async function queueAgain(
  tx: TenantTx,
  delivery: Pick<KeptDelivery, 'id' | 'webhook_id' | 'created_at'>,
  now: string,
): Promise<Pick<KeptDelivery, 'status' | 'due_at' | 'finished_at'> | undefined> {
  const due_at = sql<string>`(
    select least(${now}::timestamptz, min(due_at) - interval '1 millisecond')
    from webhook_deliveries where webhook_id = ${delivery.webhook_id} and status = 'pending')`
  return tx.db
    .updateTable('webhook_deliveries')
    .set({ status: 'pending', retry_step: 0, due_at, finished_at: null, replay_id: null })
    .where('tenant_id', '=', tx.tenantId)
    .where('webhook_id', '=', delivery.webhook_id)
    .where('entry_id', '=', delivery.id)
    .where('event_at', '=', delivery.created_at)
    .returning(['status', 'due_at', 'finished_at'])
    .executeTakeFirst()
}

/** A delivery that was made outside the engine, with its only try. */
export interface DoneDelivery {
  tenant_id: number
  webhook_id: number
  entry_id: number
  event_at: string
  event: string
  status: 'delivered' | 'failed'
  finished_at: string
  attempt: Omit<ShownAttempt, 'number'>
}

export async function insertDone(
  tx: TenantTx,
  { attempt, ...delivery }: DoneDelivery,
): Promise<void> {
  const { tenant_id, webhook_id, entry_id, event_at } = delivery
  await tx.db
    .insertInto('webhook_deliveries')
    .values({ ...delivery, attempts: 1, retry_step: 1, due_at: null })
    .execute()
  await tx.db
    .insertInto('webhook_attempts')
    .values({ tenant_id, webhook_id, entry_id, event_at, number: 1, ...attempt })
    .execute()
}

/** Whether an active webhook's deliveries wait because its receiver has failed. */
export async function isHeldBack(tx: TenantTx, webhookId: number): Promise<boolean> {
  const row = await tx.db
    .selectFrom('webhook_queues')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_queues.webhook_id')
    .select('webhook_id')
    .where('webhook_queues.tenant_id', '=', tx.tenantId)
    .where('webhook_id', '=', webhookId)
    .where('is_active', '=', true)
    .where((or) =>
      or.or([
        or('failures', '>', 0),
        or('failing_since', 'is not', null),
        or('paused_until', 'is not', null),
      ]),
    )
    .executeTakeFirst()
  return row !== undefined
}
