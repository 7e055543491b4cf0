/** The SQL of what can be wrong with webhooks: deactivated for nothing, out of step, or served by nobody. */
import { sql } from 'kysely'
import type { TenantTx } from '../../../platform/db/index.ts'
import '../webhooks.table.ts'

export interface Disabled {
  id: number
  tenant_id: number
  failing_since: string | null
  answered_at: string | null
}

/** The webhooks that failures have deactivated. */
export async function listDisabled(tx: TenantTx): Promise<Disabled[]> {
  const { rows } = await sql<Disabled>`
    select w.id, w.tenant_id, q.failing_since, q.answered_at
    from webhooks w join webhook_queues q on q.webhook_id = w.id
      join tenants t on t.id = w.tenant_id and t.is_active and t.deleted_at is null
    where not w.is_active and w.disabled_reason = 'failing' order by w.id`.execute(tx.db)
  return rows
}

/** Whether a webhook is still deactivated by failures although its receiver answers. */
export async function answersAgain(tx: TenantTx, id: number): Promise<boolean> {
  const { rows } = await sql`
    select from webhooks w join webhook_queues q on q.webhook_id = w.id
    where w.id = ${id} and not w.is_active and w.disabled_reason = 'failing'
      and q.answered_at is not null`.execute(tx.db)
  return rows.length > 0
}

/** A queue that nobody has leased, with its earliest delivery that is long due, where there is one. */
export interface Line {
  webhook_id: number
  tenant_id: number
  due_at: string | null
  waiting_since: string | null
}

/** Which queues are looked at: those of some webhooks, or the next of all. */
export type Which = { ids: readonly number[] } | { after: number; limit: number }

/**
 * The queues that are not to be looked at yet, although their webhook is at work.
 * @param late a delivery that was due then should have made its queue due
 */
export async function listIdle(
  tx: TenantTx,
  which: Which,
  { now, late }: { now: string; late: string },
): Promise<Line[]> {
  const wanted =
    'ids' in which
      ? sql`q.webhook_id = any(${which.ids}::bigint[])`
      : sql`q.webhook_id > ${which.after}`
  const { rows } = await sql<Line>`
    select idle.webhook_id, idle.tenant_id, idle.due_at, d.waiting_since from (
      select q.webhook_id, q.tenant_id, q.due_at
      from webhook_queues q join webhooks w on w.id = q.webhook_id and w.is_active
        join tenants t on t.id = q.tenant_id and t.is_active and t.deleted_at is null
      where ${wanted} and (q.due_at is null or q.due_at > ${now}::timestamptz)
        and (q.leased_until is null or q.leased_until < now())
      order by q.webhook_id limit ${'limit' in which ? which.limit : which.ids.length}
    ) idle left join lateral (
      select min(due_at) as waiting_since from webhook_deliveries
      where webhook_id = idle.webhook_id and status = 'pending'
        and due_at <= ${late}::timestamptz) d on true
    order by idle.webhook_id`.execute(tx.db)
  return rows
}

/** Keeps others from the queue until the transaction ends. */
export async function lockLine(tx: TenantTx, webhookId: number): Promise<void> {
  await sql`select from webhook_queues where webhook_id = ${webhookId} for no key update`.execute(
    tx.db,
  )
}

/** How many queues are due since `late` and longer, where no process has leased any; and since when. */
export async function countUnclaimed(
  tx: TenantTx,
  late: string,
): Promise<{ lines: number; since: string | null; all: number }> {
  const { rows } = await sql<{ lines: number; since: string | null; all: number }>`
    select count(*) filter (where is_late) as lines, count(*) as all,
      min(greatest(due_at, paused_until)) filter (where is_late) as since
    from (
      select q.due_at, q.paused_until,
        q.due_at is not null and greatest(q.due_at, q.paused_until) < ${late}::timestamptz
          and w.is_active and t.is_active
          and t.deleted_at is null
          and not exists (select from webhook_queues where leased_until >= now()) as is_late
      from webhook_queues q join webhooks w on w.id = q.webhook_id
        join tenants t on t.id = q.tenant_id) lines`.execute(tx.db)
  return rows[0] ?? { lines: 0, since: null, all: 0 }
}
