/** What nodes are notified of where a notification waits to be worked on. */
export const INBOX_TOPIC = 'payments'

declare module '../../../platform/db/topics.ts' {
  interface Topics {
    payments: typeof INBOX_TOPIC
  }
}
