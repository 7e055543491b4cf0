/** SQL for the overview of webhooks: failing webhooks, waiting deliveries, and results per hour. */
import { sql } from 'kysely'
import { HOURS } from '../../../lib/hours.ts'
import { ofScope, type TenantTx } from '../../../platform/db/index.ts'
import '../../../platform/journal/journal.table.ts'
import { TEST_EVENT } from '../events/subscription.ts'
import '../webhooks.table.ts'

export interface FailingWebhook {
  id: number
  tenant_id: number
  url: string
  disabled_reason: 'failing' | 'gone' | null
  since: string | null
  /** The total number of failing webhooks, including those beyond the limit. */
  count: number
}

/** Returns the webhooks that have failed since `before` or longer, or that the service has deactivated. */
export async function findFailing(
  tx: TenantTx,
  before: string,
  limit: number,
): Promise<FailingWebhook[]> {
  const { rows } = await sql<FailingWebhook>`
    select w.id, w.tenant_id, w.url, w.disabled_reason, q.failing_since as since,
      count(*) over () as count
    from webhooks w join webhook_queues q on q.webhook_id = w.id and q.tenant_id = w.tenant_id
    where ${ofScope(tx, 'w.tenant_id')}
      and (w.is_active and q.failing_since <= ${before}::timestamptz
        or w.disabled_reason in ('failing', 'gone'))
    order by q.failing_since desc nulls last, w.id desc limit ${limit}`.execute(tx.db)
  return rows
}

export interface WebhookCounts {
  total: number
  active: number
  waiting: number
}

/** The maximum count of pending deliveries. Counting stops there, because it reads every row. */
export const MAX_WAITING = 1_000

/** Counts the webhooks of a tenant, and its waiting deliveries up to 1,000. */
export async function countWebhookStates(tx: TenantTx): Promise<WebhookCounts> {
  const { rows } = await sql<WebhookCounts>`
    select count(*) as total, count(*) filter (where is_active) as active,
      (select count(*) from (
        select from webhooks w join lateral (
          select from webhook_deliveries d
          where d.webhook_id = w.id and ${ofScope(tx, 'd.tenant_id')} and d.status = 'pending'
          limit ${sql.lit(MAX_WAITING)}) p on true
        where ${ofScope(tx, 'w.tenant_id')} limit ${sql.lit(MAX_WAITING)}) few) as waiting
    from webhooks where ${ofScope(tx, 'tenant_id')}`.execute(tx.db)
  return rows[0] as WebhookCounts
}

/** The maximum number of deliveries to count in all time steps together. */
const MAX_COUNTED = 9_600
/** The number of deliveries per webhook that are counted in each time step. The rest is estimated. */
const MIN_COUNTED = 10
/** The number of webhooks above which a time step is an hour. Each step searches an index once per webhook. */
const MANY_WEBHOOKS = 4

export interface WebhookHour {
  webhook_id: number
  /** The number of the hour, from 0. */
  hour: number
  delivered: number
  failed: number
  is_estimate: boolean
}

/**
 * Counts the deliveries of a tenant's events from `since` on, without tests, for each webhook or for one. Counts them in
 * time steps of a quarter of an hour or an hour. Returns only the hours that have deliveries. Counts a limited number of deliveries of a webhook in
 * each step, and estimates the others. Journal ids ascend with time, so the query finds the deliveries of a step in the
 * primary key, by the ids at its start and at its end. The start times are computed first, because under row-level
 * security an index condition cannot contain a calculation.
 */
export async function countPerWebhook(
  tx: TenantTx,
  since: string,
  webhookId?: number,
): Promise<WebhookHour[]> {
  const { rows } = await sql<WebhookHour>`
    ${countedSteps(tx, since, webhookId)}
    select c.webhook_id, c.n * ${sql.lit(HOURS)} / b.steps as hour,
      sum(c.delivered * c.factor)::float8 as delivered, sum(c.failed * c.factor)::float8 as failed,
      bool_or(c.factor > 1) as is_estimate
    from counts c cross join budget b
    where c.n < b.steps and c.counted > 0
    group by 1, 2 order by 1, 2`.execute(tx.db)
  return rows
}

/** Returns the tables `budget`, `step`, and `counts` per step and webhook. */
function countedSteps(tx: TenantTx, since: string, webhookId?: number) {
  const chosen = webhookId === undefined ? sql`` : sql`and id = ${webhookId}`
  return sql`
    with hook as materialized (
      select id from webhooks where ${ofScope(tx, 'tenant_id')} ${chosen}),
    pace as materialized (
      select case when count(*) > ${sql.lit(MANY_WEBHOOKS)} then 1 else 4 end as steps,
        count(*) as webhooks from hook),
    budget as materialized (
      select ${sql.lit(HOURS)} * steps as steps, interval '1 hour' / steps as length,
        greatest(${sql.lit(MIN_COUNTED)},
          ${sql.lit(MAX_COUNTED / HOURS)} / steps / greatest(webhooks, 1)) as each
      from pace),
    beginning as materialized (
      select n, ${since}::timestamptz + n * budget.length as at
      from budget, generate_series(0, budget.steps) n),
    border as materialized (
      select n, coalesce((
        select id from journal
        where ${ofScope(tx, 'tenant_id')} and created_at >= ${since}::timestamptz
          and created_at >= beginning.at
        order by created_at, id limit 1), 9223372036854775807) as id
      from beginning),
    step as (
      select n, id as first, lead(id) over (order by n) as ends from border),
    counts as (
      select step.n, hook.id as webhook_id, c.counted, c.delivered, c.failed, f.factor
      from step join (hook cross join budget) on step.first < step.ends
      cross join lateral (
        select count(*) as counted, max(entry_id) as last,
          count(*) filter (where status = 'delivered') as delivered,
          count(*) filter (where status = 'failed') as failed
        from (
          select entry_id, status from webhook_deliveries
          where webhook_id = hook.id and ${ofScope(tx, 'tenant_id')}
            and entry_id >= step.first and entry_id < step.ends
            and event_at >= ${since}::timestamptz - interval '1 hour' and event <> ${TEST_EVENT}
          order by entry_id limit (select each from budget)) d) c
      cross join lateral (
        select case when c.counted < budget.each or step.ends = 9223372036854775807 then 1
          else (step.ends - step.first)::float8 / (c.last - step.first + 1) end as factor) f
    )`
}
