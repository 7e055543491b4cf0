import { formatCount } from '../../words/numbers.ts'

/** Texts of the page "Payment notifications". */
export const notificationsTexts = {
  title: 'Payment notifications',
  allTitle: 'Payment notifications of all clinics and of none',
  payments: 'Payments',
  provider: 'Provider',
  anyProvider: 'Any provider',
  state: 'State',
  anyState: 'Any state',
  reason: 'Reason',
  anyReason: 'Any reason',
  of: 'Clinic',
  ofClinic: 'Of this clinic',
  ofAll: 'Of all clinics and of none',
  event: 'Event',
  type: 'Type',
  payment: 'Payment',
  noPayment: 'None yet',
  received: 'Received',
  times: 'Times received',
  attempts: 'Attempts',
  processed: 'Processed',
  next: 'Next attempt',
  noNext: 'None planned',
  emptyTitle: 'No notifications',
  empty:
    'Each notification that a provider has signed appears here, and what became of it. Notifications with a wrong signature are refused and not stored.',
  nothingFound: 'No notification matches these filters.',
  notification: 'Notification',
  left: 'The state of this notification has changed, so it no longer matches the filters. Clear the filters to see it.',
  elsewhere:
    'This notification is not on this page of the list. Change the filters or the page to find it.',
  body: 'Body',
  showBody: 'Show body',
  bodyHint:
    'The body may contain personal data of the payer. The audit log records that you read it.',
  process: 'Try again',
  retried: 'The notification is waiting to be processed.',
  discard: {
    open: 'Discard unverified',
    title: 'Discard unverified notifications',
    body: 'All unverified notifications of every clinic and provider are deleted for good. A provider sends a genuine notification again only if it was not acknowledged.',
    done: (count: number) => `Discarded ${formatCount(count, 'notification', 'notifications')}.`,
  },
}

/** Why a notification was not applied, and what to do about it. */
const reasonWords: Readonly<Record<string, string>> = {
  not_configured:
    'The provider is not configured, or was not when this arrived. Configure it, then try again.',
  invalid_signature:
    'The signature matches no configured secret. Check the secret, then try again.',
  does_not_open: 'The stored notification cannot be decrypted, because its key is lost.',
  unreadable: 'The payment in the notification is incomplete or malformed.',
  tenant_unreadable: 'The notification does not name a clinic.',
  unknown_tenant: 'The clinic does not exist or is deleted.',
  other_tenant: 'The payment belongs to another clinic.',
  currency_unknown: 'The currency is unknown.',
  other_currency: 'The stored payment has another currency.',
  amount_unreadable:
    'An amount is not a plain number, is too large, or has more decimal places than its currency.',
  refund_too_large: 'The refunds would exceed the payment.',
  not_confirmed: 'The API of the provider does not confirm the notification.',
  refund_not_counted: 'The API of the provider does not show the refund yet.',
  provider_away: 'The API of the provider did not respond.',
  provider_refused: 'The API of the provider rejected the credentials. Check them.',
}

/** Returns the sentence for a reason. Returns an unknown reason unchanged. */
export const reasonWord = (reason: string): string =>
  Object.hasOwn(reasonWords, reason) ? (reasonWords[reason] ?? reason) : reason

/** The short names of the reasons, for the filter. */
export const reasonNames = {
  not_configured: 'Provider not configured',
  invalid_signature: 'Invalid signature',
  does_not_open: 'Cannot be decrypted',
  unreadable: 'Payment unreadable',
  tenant_unreadable: 'No clinic named',
  unknown_tenant: 'Unknown clinic',
  other_tenant: 'Payment of another clinic',
  currency_unknown: 'Unknown currency',
  other_currency: 'Another currency',
  amount_unreadable: 'Amount unreadable',
  refund_too_large: 'Refund too large',
  not_confirmed: 'Not confirmed',
  refund_not_counted: 'Refund not shown yet',
  provider_away: 'Provider did not respond',
  provider_refused: 'Credentials rejected',
} as const
