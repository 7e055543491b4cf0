/** Writes the table of the service's own metrics for the reference. */
import type { Metrics } from '../../server/src/platform/observe/metrics.ts'
import { tableOf } from './sections.ts'

/** Returns a table of the metrics whose names begin with `wardkeep_`, sorted by name. */
export function metricTable(registry: Metrics['registry']): string {
  const metrics = registry.getMetricsAsArray() as {
    name: string
    help: string
    type: unknown
    labelNames?: string[]
  }[]
  const rows = metrics
    .filter(({ name }) => name.startsWith('wardkeep_'))
    .map(({ name, help, type, labelNames = [] }) => [
      `\`${name}\``,
      String(type),
      labelNames.map((label) => `\`${label}\``).join(', ') || 'none',
      help,
    ])
  return tableOf(
    ['Metric', 'Type', 'Labels', 'Meaning'],
    rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  )
}
