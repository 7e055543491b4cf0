/** The topic with which nodes are notified of pending payment notifications in the inbox. */
export const INBOX_TOPIC = 'payments'

declare module '../../../platform/db/topics.ts' {
  interface Topics {
    payments: typeof INBOX_TOPIC
  }
}
