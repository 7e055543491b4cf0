/** The series that are counted, and the series to which each journal entry belongs. */

/** The series that a consumer counts from the journal. Each deletes and rewrites nothing but these rows. */
export const JOURNAL_SERIES = [
  'sign_ins',
  'refused_sign_ins',
  'changes',
  'patient_reads',
  'payments_updated',
  'payments_succeeded',
  'payments_failed',
  'payments_canceled',
  'payments_refunded',
] as const

/** The series that the delivery engine counts, each with the durations of the attempts. */
export const DELIVERY_SERIES = [
  'deliveries_delivered',
  'deliveries_failed',
  'deliveries_retried',
] as const

export const SERIES = [...JOURNAL_SERIES, ...DELIVERY_SERIES] as const
export type StatsSeries = (typeof SERIES)[number]
type JournalSeries = (typeof JOURNAL_SERIES)[number]

export const hasDurations = (series: StatsSeries): boolean =>
  DELIVERY_SERIES.some((timed) => timed === series)

const OF_ACTION: Readonly<Record<string, JournalSeries>> = {
  'auth.login': 'sign_ins',
  'auth.login_failed': 'refused_sign_ins',
  'patient.read': 'patient_reads',
  'patient.listed': 'patient_reads',
  'patient.searched': 'patient_reads',
  'patient.exported': 'patient_reads',
  'payment.updated': 'payments_updated',
  'payment.succeeded': 'payments_succeeded',
  'payment.failed': 'payments_failed',
  'payment.canceled': 'payments_canceled',
  'payment.refunded': 'payments_refunded',
}

const UNCHANGED_GROUPS: readonly string[] = ['auth', 'access', 'audit']
const READ = /[.](read|listed|searched|exported|downloaded)$/

/** Returns whether an action changes data: all except sign-ins, refused requests and reads. */
const isChange = (action: string) =>
  !UNCHANGED_GROUPS.includes(action.split('.', 1)[0] ?? '') && !READ.test(action)

/** Returns the series that count an entry with this action, also for actions of a newer release. */
export function seriesOf(action: string): JournalSeries[] {
  const own = OF_ACTION[action]
  return [...(own ? [own] : []), ...(isChange(action) ? (['changes'] as const) : [])]
}
