/** What the composition root uses of payments. */
export { PAYMENT_NOTIFICATIONS } from './inbox/sealed.ts'
export { showAmount } from './money.ts'
export { openPayments } from './payments.ts'
