/** What the composition root uses of webhooks. */

export { ensureWebhookDays, keepWebhookDaysAhead } from './upkeep/days.ts'
export { purgeWebhooks } from './webhooks.jobs.ts'
export { webhookOperations } from './webhooks.routes.ts'
export { openWebhooks } from './webhooks.ts'
