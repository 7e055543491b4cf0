/** The SQL of replays: how far each has come, what it queues, and what is taken back of it. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Replay } from '../webhooks.schema.ts'
import '../../../platform/journal/journal.table.ts'
import '../webhooks.table.ts'

/** A replay under way, with what its webhook wants now. */
export interface RunningReplay {
  id: number
  tenant_id: number
  webhook_id: number
  until: string
  /** The event that was queued last; before the first, the beginning. */
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
  'state',
  'found',
  'created_at',
  'finished_at',
] as const

export function insertReplay(
  tx: TenantTx,
  replay: { tenant_id: number; webhook_id: number; since: string; until: string },
): Promise<KeptReplay> {
  return tx.db
    .insertInto('webhook_replays')
    .values({ ...replay, event_at: replay.since })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow()
}

/** The replay of the webhook that is under way. */
export function findRunning(tx: TenantTx, webhookId: number): Promise<{ id: number } | undefined> {
  return tx.db
    .selectFrom('webhook_replays')
    .select('id')
    .where('tenant_id', '=', tx.tenantId)
    .where('webhook_id', '=', webhookId)
    .where('state', '=', 'running')
    .executeTakeFirst()
}

/** A replay with what has become of its deliveries. */
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
    // They lie in the partitions of these days.
    .where('event_at', '>=', since)
    .where('event_at', '<=', until)
    .groupBy('status')
    .execute()
  const counts = Object.fromEntries(rows.map(({ status, count }) => [status, count]))
  const { pending: waiting = 0, delivered = 0, failed = 0 } = counts
  return { ...replay, waiting, delivered, failed }
}

/** The replays of all tenants that have not come to their end. */
export function listRunning(tx: TenantTx): Promise<{ id: number; tenant_id: number }[]> {
  return tx.db
    .selectFrom('webhook_replays')
    .select(['id', 'tenant_id'])
    .where('state', '=', 'running')
    .execute()
}

/** The cancelled replays of all tenants of which something still waits. */
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
 * A replay under way, held until the transaction ends: of two that go on with it, one waits. Whoever
 * locks the queue after it keeps the webhook first.
 */
export function lockRunning(tx: TenantTx, id: number): Promise<RunningReplay | undefined> {
  return tx.db
    .selectFrom('webhook_replays')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_replays.webhook_id')
    .select([
      'webhook_replays.id',
      'webhook_replays.tenant_id',
      'webhook_replays.webhook_id',
      'webhook_replays.until',
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

/** Waits for the batch that is under way, and keeps others from the replay until the transaction ends. */
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
 * Once in a transaction: a second update of the row would check its foreign key, and so wait for whoever
 * is deleting the webhook, who waits for this one.
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
 * Throws away what is known of replays that began before `iso`, which nothing is kept of any more. One
 * that is still under way by then has failed.
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

/** The next entries of the tenant's journal, up to `limit` of them, whatever change they tell of. */
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
      // Says the same once more, for the choice of partitions.
      .where('created_at', '>=', event_at)
      .where('created_at', '<=', until)
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .execute()
  )
}

/**
 * Queues the events: those that are not there yet, those that are settled and those that wait for later.
 * The last ones do not become the replay's: they are to be delivered without it as well. What a replay
 * before has left waiting does.
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
 * Takes back up to `limit` deliveries of a replay that still wait: what was never tried is gone, what
 * was is as it was before. Returns how many.
 */
export async function withdraw(
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
        status = case when exists (
          select from webhook_attempts a where a.webhook_id = d.webhook_id
            and a.entry_id = d.entry_id and a.event_at = d.event_at and a.error is null)
          then 'delivered' else 'failed' end
      from waiting w
      where w.attempts > 0 and d.webhook_id = w.webhook_id and d.entry_id = w.entry_id
        and d.event_at = w.event_at
    )
    select from waiting`.execute(tx.db)
  return rows.length
}
