import { formatCount, formatNumber } from '../../words/numbers.ts'

/** Texts of the page "Payments". */
export const paymentsTexts = {
  title: 'Payments',
  allTitle: 'Payments of all clinics',
  chart: 'Payments over time',
  notifications: 'Notifications',
  filters: 'Filters of payments',
  provider: 'Provider',
  anyProvider: 'Any provider',
  status: 'Status',
  anyStatus: 'Any status',
  search: 'Id of a payment at the provider',
  payment: 'Payment',
  amount: 'Amount',
  refunded: 'Refunded',
  created: 'Created',
  changed: 'Changed',
  clinic: 'Clinic',
  noClinic: 'None',
  test: 'Test mode',
  isTest: 'Yes, no money was moved',
  isReal: 'No',
  emptyTitle: 'No payments yet',
  empty: 'Payments appear here when a payment provider reports them.',
  nothingFound: 'No payment matches these filters.',
  notFoundTitle: 'Payment not found',
  notFound: 'This payment does not exist, or it belongs to another clinic.',
  reports: 'Notifications about this payment',
  noReports: 'All notifications about this payment have been deleted.',
  received: (count: number) => `received ${formatCount(count, 'time', 'times')}`,
  figures: {
    title: 'Payments by provider',
    allTitle: 'Payments by clinic and provider',
    lead: (period: string, max: number) =>
      `${period}, without payments in test mode, which the list below includes. Counts at most the latest ${formatNumber(max)} payments of a clinic.`,
    providers: (configured: readonly string[], others: readonly string[]) =>
      [
        configured.length > 0
          ? `Configured payment providers: ${configured.join(', ')}.`
          : 'No payment provider is configured.',
        ...(configured.length > 0 && others.length > 0
          ? [`Not configured: ${others.join(', ')}.`]
          : []),
      ].join(' '),
    lastDays: 'The last 30 days',
    chosen: 'The chosen time',
    total: 'Payments',
    succeeded: 'Succeeded',
    open: 'Open',
    failed: 'Failed',
    canceled: 'Canceled',
    refunded: 'Refunded',
    last: 'Last payment',
    none: 'No payments in this time.',
    show: (status: string, provider: string, clinic: string) =>
      `${status} payments of ${clinic} through ${provider}`,
    showAll: (count: number) => `Show all ${formatNumber(count)}`,
    showFewer: 'Show fewer',
  },
}

/** The names of the payment providers. */
export const providerNames: Readonly<Record<string, string>> = {
  cardnet: 'cardnet',
  paygate: 'paygate',
}
