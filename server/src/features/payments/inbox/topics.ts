/** The topic that notifies nodes of payment notifications that wait in the inbox. */
export const INBOX_TOPIC = 'payments'

declare module '../../../platform/db/topics.ts' {
  interface Topics {
    payments: typeof INBOX_TOPIC
  }
}
