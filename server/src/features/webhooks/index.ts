/** The exports of webhooks for the composition root. */
export { WEBHOOK_SECRETS } from './registrations/secrets.ts'
export { openWebhooks } from './webhooks.ts'
