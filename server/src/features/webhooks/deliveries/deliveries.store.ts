/** SQL for the deliveries that administrators see: lists them, queues a delivery again, and stores test deliveries. */
import { sql } from 'kysely'
import type { Found, PageRequest } from '../../../lib/page.ts'
import { readPage, type Scoped, type TenantTx } from '../../../platform/db/index.ts'
import type { EventEntry } from '../events/message.ts'
import { failureClassOf } from '../sending/status-class.ts'
import type { ShownAttempt } from '../webhooks.schema.ts'
import '../../../platform/journal/journal.table.ts'
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

/** A delivery as stored. The status `held` is not stored: it is shown for a pending delivery of an inactive webhook. */
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
  /** The id and the time of the event's journal entry. */
  entry?: Pick<KeptDelivery, 'id' | 'created_at'>
  event?: string
  /** The class of the last failed response, as stored. */
  failureClass?: number
  from?: string
  before?: string
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
  { status, entry, event, failureClass, from, before }: DeliveryFilter,
  asked: PageRequest,
): Promise<Found<KeptDelivery>> {
  return readPage(tx, asked, (scope) => ofWebhook(scope, webhookId), {
    filter(all) {
      let filtered = all
      if (status) filtered = filtered.where('status', '=', status)
      if (entry)
        filtered = filtered
          .where('entry_id', '=', entry.id)
          .where('event_at', '=', entry.created_at)
      if (event) filtered = filtered.where('event', '=', event)
      if (failureClass !== undefined)
        // A node of an earlier release keeps the class of the previous response when a delivery succeeds.
        filtered = filtered
          .where('status_class', '=', failureClass)
          .where('status', '<>', 'delivered')
      // PostgreSQL reads only the daily partitions of the period.
      if (from) filtered = filtered.where('event_at', '>=', from)
      if (before) filtered = filtered.where('event_at', '<', before)
      return filtered
    },
    columns: { id: 'entry_id' },
  })
}

export function findDelivery(
  tx: TenantTx,
  webhookId: number,
  id: number,
): Promise<KeptDelivery | undefined> {
  return ofWebhook(tx, webhookId).where('entry_id', '=', id).executeTakeFirst()
}

/** Returns the journal entry from which the message of a delivery is built. Undefined once the entry has been deleted. */
export function findEntry(
  tx: TenantTx,
  { id, created_at }: Pick<KeptDelivery, 'id' | 'created_at'>,
): Promise<EventEntry | undefined> {
  return tx.db
    .selectFrom('journal')
    .select([
      'id',
      'action',
      'tenant_id',
      'resource_type',
      'resource_id',
      'user_id',
      'changes',
      'created_at',
    ])
    .where('tenant_id', '=', tx.tenantId)
    .where('id', '=', id)
    .where('created_at', '=', created_at)
    .executeTakeFirst() as Promise<EventEntry | undefined>
}

/** Locks a delivery until the transaction ends. Waits for transactions that are recording an attempt. */
export function lockDelivery(
  tx: TenantTx,
  webhookId: number,
  id: number,
): Promise<KeptDelivery | undefined> {
  return ofWebhook(tx, webhookId).where('entry_id', '=', id).forUpdate().executeTakeFirst()
}

/** The maximum number of attempts shown per delivery. A delivery that is often retried or replayed has more. */
const SHOWN_ATTEMPTS = 20

/** Returns the latest 20 attempts of each of these deliveries of a webhook, earliest attempt first. */
export async function listAttempts(
  tx: TenantTx,
  webhookId: number,
  deliveries: readonly Pick<KeptDelivery, 'id' | 'created_at'>[],
): Promise<(ShownAttempt & { delivery_id: number })[]> {
  if (deliveries.length === 0) return []
  const times = deliveries.map(({ created_at }) => created_at)
  // With the range from the earliest to the latest time, PostgreSQL reads only the partitions of that range.
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
 * Makes a delivery in any state due now, and restarts its retry schedule. Sends the delivery before the webhook's other
 * pending deliveries, because a failing receiver may get only one attempt before the next pause. Returns undefined if
 * the cancellation of a replay has deleted the delivery.
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

/** A finished test delivery with its only attempt. The engine does not send test deliveries. */
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
    .values({
      ...delivery,
      attempts: 1,
      retry_step: 1,
      due_at: null,
      status_class: failureClassOf(attempt),
    })
    .execute()
  await tx.db
    .insertInto('webhook_attempts')
    .values({ tenant_id, webhook_id, entry_id, event_at, number: 1, ...attempt })
    .execute()
}

/** The causes that hold deliveries of a webhook back. */
export interface HeldBack {
  /** Whether the queue is slowed down or paused, because the receiver has failed. */
  is_failing: boolean
  /** Whether a delivery waits for a later attempt. */
  is_waiting: boolean
}

/** Returns what holds deliveries of an active webhook back. Returns undefined if the webhook is inactive. */
export async function findHeldBack(
  tx: TenantTx,
  webhookId: number,
  now: string,
): Promise<HeldBack | undefined> {
  const { rows } = await sql<HeldBack>`
    select q.failures > 0 or q.failing_since is not null or q.paused_until is not null as is_failing,
      exists (select from webhook_deliveries d
        where d.webhook_id = q.webhook_id and d.status = 'pending'
          and d.due_at > ${now}::timestamptz) as is_waiting
    from webhook_queues q join webhooks w on w.id = q.webhook_id
    where q.tenant_id = ${tx.tenantId} and q.webhook_id = ${webhookId} and w.is_active`.execute(
    tx.db,
  )
  return rows[0]
}
