/** What the composition root uses of webhooks. */
export { WEBHOOK_SECRETS } from './registrations/secrets.ts'
export { openWebhooks } from './webhooks.ts'
