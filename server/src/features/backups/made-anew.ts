/** The SQL of rows that are in no backup and follow from the rest. */

/** The queues of webhooks that have none. The engine makes due what was under way. */
export const WEBHOOK_QUEUES = `
  insert into webhook_queues (webhook_id, tenant_id, due_at)
  select id, tenant_id, (select min(due_at) from webhook_deliveries
    where webhook_id = webhooks.id and status = 'pending')
  from webhooks where not exists (select from webhook_queues queue where queue.webhook_id = webhooks.id)`
