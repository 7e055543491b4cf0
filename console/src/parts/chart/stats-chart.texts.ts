import type { Schemas } from '../../api/client.ts'

type StatsSeries = Schemas['Stats']['series'][number]['name']

export const statsChartTexts = {
  range: 'Period',
  ranges: {
    '24h': { button: '24 h', title: 'Last 24 hours' },
    '7d': { button: '7 d', title: 'Last 7 days' },
    '30d': { button: '30 d', title: 'Last 30 days' },
  },
  note: (range: string, zone: string) => `${range}, times in ${zone}`,
  durations: (half: string, most: string) =>
    `Half of the answers took up to ${half}, 95 % up to ${most}`,
  series: {
    sign_ins: 'Signed in',
    refused_sign_ins: 'Refused',
    changes: 'Changes',
    patient_reads: 'Reads of patients',
    payments_updated: 'Pending or changed',
    payments_succeeded: 'Succeeded',
    payments_failed: 'Failed',
    payments_canceled: 'Canceled',
    payments_refunded: 'Refunded',
    deliveries_delivered: 'Delivered',
    deliveries_failed: 'Failed',
    deliveries_retried: 'Failed, retried later',
  } satisfies Record<StatsSeries, string>,
}
