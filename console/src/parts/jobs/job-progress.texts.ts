import { formatBytes, formatCount, formatNumber, formatPercent } from '../../words/numbers.ts'

const nouns = {
  records: ['record', 'records'],
  events: ['event', 'events'],
  entries: ['entry', 'entries'],
  checks: ['check', 'checks'],
} as const

/** The things that a job counts. */
export type JobUnit = keyof typeof nouns | 'bytes'

export const jobProgressTexts = {
  progress: 'Progress',
  counted(done: number, total: number, unit: JobUnit): string {
    if (unit === 'bytes') return `${formatBytes(done)} of ${formatBytes(total)}`
    const [one, many] = nouns[unit]
    return `${formatNumber(done)} of ${formatCount(total, one, many)}`
  },
  percent: (share: number) => formatPercent(share),
  left: (duration: string) => `about ${duration} left`,
  started: 'Started',
  by: (name: string) => `by ${name}`,
  maintenance: 'Waiting until the service answers again',
  queued: 'Waiting for its turn',
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
  cancel: 'Cancel the job',
}
