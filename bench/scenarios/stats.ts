/** Counts over time of a busy clinic, in a deployment with 5,000,000 journal entries. */
import { percentile } from '../measure/statistics.ts'
import type { Line } from '../measure/table.ts'
import { callersOf } from './lists.ts'
import type { Scenario } from './scenario.ts'

const LIMIT_MS = 50
const DAY_MS = 86_400_000
const REQUESTS = 300
const WARM_UP = 30

const OVERVIEW = [
  'sign_ins',
  'refused_sign_ins',
  'changes',
  'deliveries_delivered',
  'deliveries_failed',
]
const ALL = [
  ...OVERVIEW,
  'patient_reads',
  'payments_succeeded',
  'payments_failed',
  'deliveries_retried',
]

export const stats: Scenario = async (environment, pace, say) => {
  const deployment = await environment.deployment('large')
  const [headers = {}] = await callersOf(deployment, 'admin')
  const lines: Line[] = []
  for (const { name, series, days, bucket } of [
    { name: 'the overview, 30 days', series: OVERVIEW, days: 30, bucket: 'day' },
    { name: 'the overview, 24 hours', series: OVERVIEW, days: 1, bucket: 'hour' },
    { name: 'every series, 30 days by the hour', series: ALL, days: 30, bucket: 'hour' },
  ]) {
    say(name)
    const now = Date.now()
    const query = new URLSearchParams([
      ...series.map((one): [string, string] => ['series', one]),
      ['bucket', bucket],
      ['from', new Date(now - days * DAY_MS).toISOString()],
      ['to', new Date(now).toISOString()],
      ['time_zone', 'Europe/Berlin'],
    ])
    const url = `${deployment.service.url}/api/admin/stats?${query}`
    const times: number[] = []
    for (let request = -WARM_UP; request < Math.max(40, REQUESTS * pace.share); request += 1) {
      const start = performance.now()
      const response = await fetch(url, { headers })
      const text = await response.text()
      if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`)
      if (request >= 0) times.push(performance.now() - start)
    }
    const p95 = percentile(times, 0.95)
    lines.push({
      name: `${name}, p95`,
      ours: `${p95.toFixed(1)} ms`,
      limit: `${LIMIT_MS} ms`,
      ratio: p95 / LIMIT_MS,
      aim: { atMost: 1 },
    })
  }
  return lines
}
