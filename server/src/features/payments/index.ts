/** What the composition root uses of payments. */
export { openPayments } from './payments.ts'
