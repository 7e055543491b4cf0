/** The SQL that recreates rows that are not backed up because they can be derived from other rows. */

/**
 * Inserts a queue for each webhook that has none. The webhook engine then schedules the interrupted deliveries again.
 */
export const WEBHOOK_QUEUES = `
  insert into webhook_queues (webhook_id, tenant_id, due_at)
  select id, tenant_id, (select min(due_at) from webhook_deliveries
    where webhook_id = webhooks.id and status = 'pending')
  from webhooks where not exists (select from webhook_queues queue where queue.webhook_id = webhooks.id)`
