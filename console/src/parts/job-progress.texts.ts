import { formatCount, formatNumber, formatPercent } from '../words/numbers.ts'

export const jobProgressTexts = {
  progress: 'Progress',
  counted: (done: number, total: number, noun: string) =>
    `${formatNumber(done)} of ${formatCount(total, noun, `${noun}s`)}`,
  percent: (share: number) => formatPercent(share),
  left: (duration: string) => `about ${duration} left`,
  started: 'Started',
  by: (name: string) => `by ${name}`,
  maintenance: 'Waiting until the service answers again',
}
