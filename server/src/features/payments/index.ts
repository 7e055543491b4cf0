/** What the composition root uses of payments. */
export { showAmount } from './money.ts'
export { openPayments } from './payments.ts'
