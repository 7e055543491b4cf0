/** What the composition root uses of webhooks. */
export { openWebhooks } from './webhooks.ts'
