/** SQL that claims, renews and releases the leases of queues. Leases use the database's clock. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

/** How long a deleted tenant's webhooks still receive messages, in seconds, so that they receive the deletion event. */
const GRACE_SECONDS = 60 * 60

/** True if webhooks of the tenant `t` receive messages. Uses the database's clock, which also sets `deleted_at`. */
export const isServed = sql<boolean>`(t.is_active
  and coalesce(t.deleted_at > now() - make_interval(secs => ${GRACE_SECONDS}), true))`

/** The seconds after which a lease without renewal ends. After a process is killed, its queues wait for this long. */
export const QUEUE_LEASE_SECONDS = 10

export interface ClaimedQueue {
  webhook_id: number
  tenant_id: number
  epoch: number
  failures: number
  failure_share: number
  failing_since: string | null
  failed_at: string | null
  slots: number
  paused_until: string | null
  resets: number
  url: string
  /** The secrets that have not expired, the current secret first. */
  secrets: { id: string; sealed_secret: Buffer; expires_at: string | null }[]
}

/** The maximum number of due queues that one claim considers. A single tenant has far fewer. */
const MAX_CONSIDERED = 1000

/**
 * Claims up to `limit` queues that have due deliveries and belong to active webhooks of active tenants. Prefers tenants
 * with few leased queues, and then queues that have waited longest. Skips queues that another process is claiming at
 * the same time, so that any number of processes can claim in parallel.
 */
export async function claimQueues(
  tx: TenantTx,
  claim: { worker: string; limit: number; now: string },
): Promise<ClaimedQueue[]> {
  const { rows } = await sql<Omit<ClaimedQueue, 'secrets'>>`
    with due as (
      select q.webhook_id, q.tenant_id, q.due_at
      from webhook_queues q join webhooks w on w.id = q.webhook_id and w.is_active
        join tenants t on t.id = q.tenant_id and ${isServed}
      where q.due_at <= ${claim.now}::timestamptz
        and (q.leased_until is null or q.leased_until < now())
        and (q.paused_until is null or q.paused_until <= ${claim.now}::timestamptz)
      order by q.due_at limit ${MAX_CONSIDERED}
    ), busy as (
      select tenant_id, count(*) as queues from webhook_queues
      where due_at is not null and leased_until >= now() group by tenant_id
    ), turns as (
      select d.webhook_id, d.due_at, coalesce(b.queues, 0)
        + row_number() over (partition by d.tenant_id order by d.due_at) as turn
      from due d left join busy b using (tenant_id)
    ), chosen as (
      select q.webhook_id from webhook_queues q join turns using (webhook_id)
      where q.leased_until is null or q.leased_until < now()
      order by turns.turn, turns.due_at limit ${claim.limit}
      for update of q skip locked
    )
    update webhook_queues q
    set leased_by = ${claim.worker}, epoch = q.epoch + 1,
      leased_until = now() + make_interval(secs => ${QUEUE_LEASE_SECONDS})
    from chosen c, webhooks w
    where q.webhook_id = c.webhook_id and w.id = q.webhook_id
    returning q.webhook_id, q.tenant_id, q.epoch, q.failures, q.failure_share, q.failing_since,
      q.failed_at, q.slots, q.paused_until, q.resets, w.url`.execute(tx.db)
  if (rows.length === 0) return []
  const secrets = await tx.db
    .selectFrom('webhook_secrets')
    .select(['webhook_id', 'id', 'sealed_secret', 'expires_at'])
    .where(
      'webhook_id',
      '=',
      sql<number>`any(${rows.map(({ webhook_id }) => webhook_id)}::bigint[])`,
    )
    .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', claim.now)]))
    .orderBy(sql`expires_at desc nulls first`)
    .execute()
  return rows.map((queue) => ({
    ...queue,
    secrets: secrets.filter(({ webhook_id }) => webhook_id === queue.webhook_id),
  }))
}

/**
 * Clears the due times of queues whose webhooks are inactive. New events make such queues due again, and every claim
 * would have to skip them first. Also locks the webhooks, so that a concurrent activation is not lost.
 */
export async function unscheduleInactive(tx: TenantTx, now: string): Promise<void> {
  await sql`
    with unscheduled as (
      select q.webhook_id from webhook_queues q join webhooks w on w.id = q.webhook_id
      where q.due_at <= ${now}::timestamptz and not w.is_active
      order by q.webhook_id limit ${MAX_CONSIDERED} for update of q, w skip locked
    )
    update webhook_queues q set due_at = null from unscheduled s
    where q.webhook_id = s.webhook_id`.execute(tx.db)
}

/**
 * Renews the leases of queues. Returns for each queue whether the lease was renewed, and whether the process must stop
 * sending (`isLost`). A queue is lost if another process has claimed it, its webhook or tenant is no longer active, or
 * the webhook has changed. After a change of the webhook the lease is renewed nevertheless, so that no other process
 * resends messages in flight. The result is computed from the rows, because a process may have missed notifications.
 *
 * A queue that another transaction has locked is neither renewed nor lost, so that it does not delay the others. The
 * same applies to a released queue, because a renewed lease without an owner would block claims until it expires.
 */
export async function renewLeases(
  tx: TenantTx,
  queues: readonly { id: number; epoch: number }[],
): Promise<{ id: number; isRenewed: boolean; isLost: boolean }[]> {
  const { rows } = await sql<{ id: number; isRenewed: boolean; isLost: boolean }>`
    with mine as materialized (
      select * from unnest(${queues.map(({ id }) => id)}::bigint[],
        ${queues.map(({ epoch }) => epoch)}::bigint[]) as mine(webhook_id, epoch)
    ), locked as materialized (
      select q.webhook_id from webhook_queues q join mine using (webhook_id, epoch)
      where q.leased_until is not null
      order by q.webhook_id for no key update of q skip locked
    ), renewed as (
      update webhook_queues q set leased_until = now() + make_interval(secs => ${QUEUE_LEASE_SECONDS})
      from locked where q.webhook_id = locked.webhook_id
      returning q.webhook_id
    )
    select mine.webhook_id as id, renewed.webhook_id is not null as "isRenewed",
      q.webhook_id is null or (q.leased_by is null and q.leased_until is not null) as "isLost"
    from mine left join renewed using (webhook_id)
      left join (webhook_queues q join webhooks w on w.id = q.webhook_id and w.is_active
        join tenants t on t.id = q.tenant_id and ${isServed})
        on q.webhook_id = mine.webhook_id and q.epoch = mine.epoch`.execute(tx.db)
  return rows
}

export interface QueueState {
  id: number
  epoch: number
  failures: number
  failure_share: number
  failing_since: string | null
  failed_at: string | null
  slots: number
  paused_until: string | null
}

/** Returns an SQL table named `given` with one row per queue state. */
function given(queues: readonly QueueState[]) {
  const column = <K extends keyof QueueState>(key: K) => queues.map((queue) => queue[key])
  return sql`unnest(${column('id')}::bigint[], ${column('epoch')}::bigint[],
    ${column('failures')}::integer[], ${column('failure_share')}::float8[],
    ${column('failing_since')}::timestamptz[],
    ${column('failed_at')}::timestamptz[], ${column('slots')}::integer[],
    ${column('paused_until')}::timestamptz[])
    as given(webhook_id, epoch, failures, failure_share, failing_since, failed_at, slots, paused_until)`
}

/**
 * Locks queues in ascending order of their webhooks, and returns those that were locked. Skips queues that another
 * transaction has locked, so that they do not delay the others.
 */
async function lock(tx: TenantTx, queues: readonly QueueState[]): Promise<QueueState[]> {
  const { rows } = await sql<{ id: number }>`
    select webhook_id as id from webhook_queues
    where webhook_id = any(${queues.map(({ id }) => id)}::bigint[])
    order by webhook_id for update skip locked`.execute(tx.db)
  const locked = new Set(rows.map(({ id }) => id))
  return queues.filter(({ id }) => locked.has(id))
}

/**
 * The SQL assignments that save the state of a receiver in the row of its queue. If the lease has no owner, the pause
 * in the row is kept. An administrator may have changed it to get an immediate attempt.
 */
const state = sql`failures = given.failures, failure_share = given.failure_share,
  failing_since = given.failing_since, failed_at = given.failed_at, slots = given.slots,
  paused_until = case when q.leased_by is null then q.paused_until else given.paused_until end`

/** Saves receiver states of leased queues. Skips locked queues. Returns the ids of the saved queues. */
export async function saveQueues(
  tx: TenantTx,
  queues: readonly QueueState[],
): Promise<Set<number>> {
  const locked = await lock(tx, queues)
  tx.send(
    sql`update webhook_queues q set ${state} from ${given(locked)}
      where q.webhook_id = given.webhook_id and q.epoch = given.epoch`.compile(tx.db),
  )
  return new Set(locked.map(({ id }) => id))
}

/**
 * Releases the leases of queues, and schedules each queue for its earliest pending delivery. Locks the queues in a
 * separate statement, because a fan-out that adds deliveries holds the lock until it commits. The next statement then
 * sees these deliveries. A single statement could miss them, and they would wait for the next event.
 * @returns the ids of webhooks whose queues were released or no longer exist. Other transactions have locked the other
 * queues.
 */
export async function releaseQueues(
  tx: TenantTx,
  queues: readonly QueueState[],
): Promise<number[]> {
  const locked = await lock(tx, queues)
  tx.send(
    sql`update webhook_queues q set leased_by = null, leased_until = null, ${state},
        due_at = (select min(d.due_at) from webhook_deliveries d
          where d.webhook_id = q.webhook_id and d.status = 'pending')
      from ${given(locked)}
      where q.webhook_id = given.webhook_id and q.epoch = given.epoch`.compile(tx.db),
  )
  // After a reset, `leased_until` was kept only because of messages in flight, which have now ended.
  tx.send(
    sql`update webhook_queues q set leased_until = null from ${given(locked)}
      where q.webhook_id = given.webhook_id and q.epoch = given.epoch + 1 and q.leased_by is null`.compile(
      tx.db,
    ),
  )
  const ids = queues.map(({ id }) => id)
  const ours = new Set(locked.map(({ id }) => id))
  const others = ids.filter((id) => !ours.has(id))
  const theirs = others.length > 0 ? await listQueues(tx, others) : new Set()
  return ids.filter((id) => !theirs.has(id))
}

/** Returns the ids of the webhooks that still have a queue. Deleting a webhook deletes its queue. */
async function listQueues(tx: TenantTx, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select webhook_id as id from webhook_queues where webhook_id = any(${ids}::bigint[])`.execute(
    tx.db,
  )
  return new Set(rows.map(({ id }) => id))
}
