/** SQL of replays: saves their progress, queues their events, and removes deliveries of cancelled replays. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { LongJobRow } from '../../../platform/feature/job-source.ts'
import type { Actor } from '../../../platform/journal/index.ts'
import { TEST_EVENT } from '../events/subscription.ts'
import type { Replay } from '../webhooks.schema.ts'
import '../../../platform/journal/journal.table.ts'
import '../webhooks.table.ts'
import { MAX_COUNTED } from './previews.store.ts'

/** A running replay with the current subscriptions of its webhook. */
export interface RunningReplay {
  id: number
  tenant_id: number
  webhook_id: number
  since: string
  until: string
  /** Whether the replay queues only deliveries that failed for good. */
  only_failed: boolean
  /**
   * The time of the last journal entry that was handled. Before the first one, the start of the period. If only failed
   * deliveries are queued, always a time after the period.
   */
  event_at: string
  entry_id: number
  found: number
  events: string[]
}

export interface PastEvent {
  id: number
  action: string
  created_at: string
}

type KeptReplay = Omit<Replay, 'waiting' | 'delivered' | 'failed'>

const COLUMNS = [
  'id',
  'webhook_id',
  'since',
  'until',
  'only_failed',
  'state',
  'found',
  'created_at',
  'finished_at',
] as const

/** The period of a replay, with both ends inclusive. */
interface ReplayPeriod {
  webhook_id: number
  since: string
  until: string
  only_failed?: boolean
}

export function insertReplay(
  tx: TenantTx,
  { actor, ...replay }: ReplayPeriod & { tenant_id: number; actor: Actor },
): Promise<KeptReplay> {
  // Nodes of earlier releases ignore `only_failed` and queue all entries after `event_at`. So let them find no entries.
  const event_at = replay.only_failed
    ? sql<string>`${replay.until}::timestamptz + interval '1 millisecond'`
    : replay.since
  return tx.db
    .insertInto('webhook_replays')
    .values({ ...replay, actor: JSON.stringify(actor), event_at })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

const ID_PREFIX = 'replay-'

export const REPLAY_JOBS = sql<LongJobRow>`
  select ${sql.lit(ID_PREFIX)} || id as id, 'replay' as kind, tenant_id, webhook_id::text as subject_id,
    state as status, case when state = 'running' then 'Queueing the events' end as phase,
    found as done, null::bigint as total, 'events' as unit, null as error,
    jsonb_build_object('since', since, 'until', until, 'only_failed', only_failed) as result, actor, created_at,
    created_at as started_at, null::timestamptz(3) as progressed_at,
    null::timestamptz(3) as counted_since, finished_at, state = 'running' as can_cancel
  from webhook_replays`

/** Returns the id of the replay that a long job stands for. */
export const replayIdOf = ({ id }: Pick<LongJobRow, 'id'>): number =>
  Number(id.slice(ID_PREFIX.length))

/** Returns the running replay of the webhook, or undefined if no replay is running. */
export function findRunningReplay(
  tx: TenantTx,
  webhookId: number,
): Promise<{ id: number } | undefined> {
  return tx.db
    .selectFrom('webhook_replays')
    .select('id')
    .where('tenant_id', '=', tx.tenantId)
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'running')
    .executeTakeFirst()
}

/** Returns a replay with the number of its deliveries in each state, or undefined if it does not exist. */
export async function findReplay(
  tx: TenantTx,
  webhookId: number,
  id: number,
): Promise<Replay | undefined> {
  const replay = await tx.db
    .selectFrom('webhook_replays')
    .select(COLUMNS)
    .where('id', '=', id)
    .where('webhook_id', '=', webhookId)
    .where('tenant_id', '=', tx.tenantId)
    .executeTakeFirst()
  if (!replay) return undefined
  const { since, until } = replay
  const rows = await tx.db
    .selectFrom('webhook_deliveries')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where('tenant_id', '=', tx.tenantId)
    .where('webhook_id', '=', webhookId)
    .where('replay_id', '=', id)
    // Limits the search to the partitions of the replay's period.
    .where('event_at', '>=', since)
    .where('event_at', '<=', until)
    .groupBy('status')
    .execute()
  const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
  const { pending: waiting = 0, delivered = 0, failed = 0 } = counts
  return { ...replay, waiting, delivered, failed }
}

/** The maximum number of replays in the list of a webhook. */
const MAX_LISTED = 50

/**
 * Returns the latest replays of a webhook, latest first. Counts the states of up to 100,000 deliveries of each replay.
 * @param limit the maximum number of deliveries to count for each replay; smaller in tests
 */
export async function listReplays(
  tx: TenantTx,
  webhookId: number,
  limit = MAX_COUNTED,
): Promise<Replay[]> {
  const { rows } = await sql<Replay>`
    select r.id, r.webhook_id, r.since, r.until, r.only_failed, r.state, r.found, r.created_at,
      r.finished_at, c.waiting, c.delivered, c.failed
    from (
      select id, webhook_id, since, until, only_failed, state, found, created_at, finished_at
      from webhook_replays where tenant_id = ${tx.tenantId} and webhook_id = ${webhookId}
      order by id desc limit ${sql.lit(MAX_LISTED)}) r
    cross join lateral (
      select count(*) filter (where status = 'pending') as waiting,
        count(*) filter (where status = 'delivered') as delivered,
        count(*) filter (where status = 'failed') as failed
      from (
        select status from webhook_deliveries d
        where d.webhook_id = ${webhookId} and d.tenant_id = ${tx.tenantId} and d.replay_id = r.id
          and d.event_at between r.since and r.until
        limit ${sql.lit(limit)}) few) c
    order by r.id desc`.execute(tx.db)
  return rows
}

/** Returns the next failed deliveries of the replay's period, up to `limit`. Omits tests, which are sent only once. */
export async function readFailed(
  tx: TenantTx,
  { webhook_id, since, until, entry_id }: RunningReplay,
  limit: number,
): Promise<PastEvent[]> {
  const { rows } = await sql<PastEvent>`
    select entry_id as id, event as action, event_at as created_at from webhook_deliveries
    where tenant_id = ${tx.tenantId} and webhook_id = ${webhook_id} and status = 'failed'
      and entry_id > ${entry_id} and event <> ${TEST_EVENT}
      and event_at between ${since}::timestamptz and ${until}::timestamptz
    order by entry_id limit ${limit}`.execute(tx.db)
  return rows
}

export function listRunning(tx: TenantTx): Promise<{ id: number; tenant_id: number }[]> {
  return tx.db
    .selectFrom('webhook_replays')
    .select(['id', 'tenant_id'])
    .where('state', '=', 'running')
    .execute()
}

/** Returns the cancelled replays of all tenants that still have pending deliveries. */
export async function listUnswept(
  tx: TenantTx,
): Promise<{ id: number; tenant_id: number; webhook_id: number }[]> {
  const { rows } = await sql<{ id: number; tenant_id: number; webhook_id: number }>`
    select r.id, r.tenant_id, r.webhook_id from webhook_replays r
    where r.state = 'cancelled' and exists (
      select from webhook_deliveries d
      where d.webhook_id = r.webhook_id and d.replay_id = r.id and d.status = 'pending')`.execute(
    tx.db,
  )
  return rows
}

/**
 * Locks a running replay until the transaction ends, so that two jobs cannot continue it simultaneously. Returns
 * undefined if the replay is not running. A caller that locks the queue afterwards must first call `keepWebhook`.
 */
export function lockRunning(tx: TenantTx, id: number): Promise<RunningReplay | undefined> {
  return tx.db
    .selectFrom('webhook_replays')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_replays.webhook_id')
    .select([
      'webhook_replays.id',
      'webhook_replays.tenant_id',
      'webhook_replays.webhook_id',
      'webhook_replays.since',
      'webhook_replays.until',
      'webhook_replays.only_failed',
      'webhook_replays.event_at',
      'webhook_replays.entry_id',
      'webhook_replays.found',
      'webhooks.events',
    ])
    .where('webhook_replays.id', '=', id)
    .where('webhook_replays.tenant_id', '=', tx.tenantId)
    .where('webhook_replays.state', '=', 'running')
    .forUpdate('webhook_replays')
    .executeTakeFirst()
}

/** Locks the replay until the transaction ends. If a batch of the replay is being queued, waits for it. */
export async function lockReplay(tx: TenantTx, id: number): Promise<void> {
  await tx.db
    .selectFrom('webhook_replays')
    .select('id')
    .where('id', '=', id)
    .where('tenant_id', '=', tx.tenantId)
    .forUpdate()
    .execute()
}

/**
 * Updates a replay. Call this only once per transaction. A second update would check the row's foreign key, and could
 * deadlock with a transaction that deletes the webhook.
 */
export async function advanceReplay(
  tx: TenantTx,
  id: number,
  to: {
    event_at?: string
    entry_id?: number
    found?: number
    state?: Exclude<Replay['state'], 'running'>
    finished_at?: string
  },
): Promise<void> {
  await tx.db
    .updateTable('webhook_replays')
    .set(to)
    .where('id', '=', id)
    .where('tenant_id', '=', tx.tenantId)
    .execute()
}

/**
 * Deletes replays that were created before `iso`, because their deliveries are no longer stored. Replays of that age
 * that are still running are marked as failed instead.
 */
export async function forgetReplays(tx: TenantTx, iso: string, now: string): Promise<void> {
  await tx.db
    .deleteFrom('webhook_replays')
    .where('created_at', '<', iso)
    .where('state', '<>', 'running')
    .execute()
  await tx.db
    .updateTable('webhook_replays')
    .set({ state: 'failed', finished_at: now })
    .where('created_at', '<', iso)
    .where('state', '=', 'running')
    .execute()
}

/** Returns the next journal entries of the replay's period, up to `limit`. Omits entries that only record access. */
export function readEntries(
  tx: TenantTx,
  { event_at, entry_id, until }: RunningReplay,
  limit: number,
): Promise<PastEvent[]> {
  return (
    tx.db
      .selectFrom('journal')
      .select(['id', 'action', 'created_at'])
      .where('tenant_id', '=', tx.tenantId)
      .where(sql<boolean>`not is_access`)
      .where(sql<boolean>`(created_at, id) > (${event_at}::timestamptz, ${entry_id}::bigint)`)
      // Repeats the condition on the time, so that PostgreSQL reads only the matching partitions.
      .where('created_at', '>=', event_at)
      .where('created_at', '<=', until)
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .execute()
  )
}

/**
 * Queues events that have no delivery yet. Makes finished deliveries due again, and pending deliveries due now. A
 * delivery that is already pending does not become part of the replay, because cancelling the replay must not remove
 * it. The pending deliveries of an earlier replay do become part of it.
 */
export async function queueEvents(
  tx: TenantTx,
  { id: replay, tenant_id, webhook_id }: RunningReplay,
  events: readonly PastEvent[],
  due_at: string,
): Promise<void> {
  await sql`
    insert into webhook_deliveries as d
      (tenant_id, webhook_id, entry_id, event_at, event, due_at, replay_id)
    select ${tenant_id}, ${webhook_id}, e.id, e.created_at, e.action, ${due_at}::timestamptz, ${replay}
    from unnest(${events.map(({ id }) => id)}::bigint[],
        ${events.map(({ created_at }) => created_at)}::timestamptz[],
        ${events.map(({ action }) => action)}::text[]) as e (id, created_at, action)
    on conflict (webhook_id, entry_id, event_at) do update
      set status = 'pending', retry_step = 0, due_at = excluded.due_at, finished_at = null,
        replay_id = case when d.status <> 'pending' or d.replay_id is not null
          then excluded.replay_id end
      where d.status <> 'pending' or d.due_at > excluded.due_at or d.replay_id is not null`.execute(
    tx.db,
  )
}

/**
 * Removes up to `limit` pending deliveries of a replay. Deletes deliveries without attempts, and restores the earlier
 * state of the others. Returns how many deliveries were deleted or restored.
 */
export async function withdrawReplay(
  tx: TenantTx,
  replay: { id: number; webhook_id: number },
  now: string,
  limit: number,
): Promise<number> {
  const { rows } = await sql`
    with waiting as (
      select webhook_id, entry_id, event_at, attempts from webhook_deliveries
      where webhook_id = ${replay.webhook_id} and replay_id = ${replay.id} and status = 'pending'
      order by entry_id limit ${limit} for update
    ), gone as (
      delete from webhook_deliveries d using waiting w
      where w.attempts = 0 and d.webhook_id = w.webhook_id and d.entry_id = w.entry_id
        and d.event_at = w.event_at
    ), kept as (
      update webhook_deliveries d
      set due_at = null, finished_at = ${now}::timestamptz, replay_id = null,
        status = case when s.is_delivered then 'delivered' else 'failed' end,
        status_class = case when not s.is_delivered then d.status_class end
      from waiting w cross join lateral (select exists (
        select from webhook_attempts a where a.webhook_id = w.webhook_id
          and a.entry_id = w.entry_id and a.event_at = w.event_at and a.error is null)
        as is_delivered) s
      where w.attempts > 0 and d.webhook_id = w.webhook_id and d.entry_id = w.entry_id
        and d.event_at = w.event_at
    )
    select from waiting`.execute(tx.db)
  return rows.length
}
