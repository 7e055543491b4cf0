/** The exports of payments for the composition root. */
export { PAYMENT_NOTIFICATIONS } from './inbox/sealed.ts'
export { showAmount } from './money.ts'
export { openPayments } from './payments.ts'
