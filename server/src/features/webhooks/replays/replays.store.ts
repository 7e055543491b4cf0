/** The SQL of replays: how far each has come, and what it queues. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../../../platform/journal/journal.table.ts'
import '../webhooks.table.ts'

/** A replay with what its webhook wants now. */
export interface Replay {
  id: string
  tenant_id: number
  webhook_id: number
  until: string
  /** The event that was queued last; before the first, the beginning. */
  event_at: string
  entry_id: number
  events: string[]
}

export interface PastEvent {
  id: number
  action: string
  created_at: string
}

export async function insertReplay(
  tx: TenantTx,
  replay: { id: string; tenant_id: number; webhook_id: number; event_at: string; until: string },
): Promise<void> {
  await tx.db.insertInto('webhook_replays').values(replay).execute()
}

/** The replays of all tenants that have not come to their end. */
export function listReplays(tx: TenantTx): Promise<{ id: string; tenant_id: number }[]> {
  return tx.db.selectFrom('webhook_replays').select(['id', 'tenant_id']).execute()
}

/** A replay, held until the transaction ends: of two that go on with it, one waits. */
export function lockReplay(tx: TenantTx, id: string): Promise<Replay | undefined> {
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
      'webhooks.events',
    ])
    .where('webhook_replays.id', '=', id)
    .where('webhook_replays.tenant_id', '=', tx.tenantId)
    .forUpdate('webhook_replays')
    .executeTakeFirst()
}

export async function moveReplay(tx: TenantTx, id: string, last: PastEvent): Promise<void> {
  await tx.db
    .updateTable('webhook_replays')
    .set({ event_at: last.created_at, entry_id: last.id })
    .where('id', '=', id)
    .where('tenant_id', '=', tx.tenantId)
    .execute()
}

export async function deleteReplay(tx: TenantTx, id: string): Promise<void> {
  await tx.db
    .deleteFrom('webhook_replays')
    .where('id', '=', id)
    .where('tenant_id', '=', tx.tenantId)
    .execute()
}

/** The next entries of the tenant's journal, up to `limit` of them, whatever they tell of. */
export function readEntries(
  tx: TenantTx,
  { event_at, entry_id, until }: Replay,
  limit: number,
): Promise<PastEvent[]> {
  return (
    tx.db
      .selectFrom('journal')
      .select(['id', 'action', 'created_at'])
      .where('tenant_id', '=', tx.tenantId)
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

/** Queues the events: those that are not there yet, those that are settled and those that wait for later. */
export async function queueEvents(
  tx: TenantTx,
  { tenant_id, webhook_id }: Replay,
  events: readonly PastEvent[],
  due_at: string,
): Promise<void> {
  await sql`
    insert into webhook_deliveries as d
      (tenant_id, webhook_id, entry_id, event_at, event, due_at)
    select ${tenant_id}, ${webhook_id}, e.id, e.created_at, e.action, ${due_at}::timestamptz
    from unnest(${events.map(({ id }) => id)}::bigint[],
        ${events.map(({ created_at }) => created_at)}::timestamptz[],
        ${events.map(({ action }) => action)}::text[]) as e (id, created_at, action)
    on conflict (webhook_id, entry_id, event_at) do update
      set status = 'pending', tries = 0, due_at = excluded.due_at, finished_at = null
      where d.status <> 'pending' or d.due_at > excluded.due_at`.execute(tx.db)
}
