/** What is announced where a notice waits to be worked on. */
export const INBOX_TOPIC = 'payments'
