/** The names of all metrics: they follow the Prometheus conventions, as in `promtool check metrics`. */
import { expect, test } from 'vitest'
import { openService } from '../support/service.ts'

test('every metric has a help text, and a name suffix that fits its type', async () => {
  const service = await openService({ background: ['webhooks', 'jobs', 'messenger', 'payments'] })
  const metrics = await service.app.metrics.registry.getMetricsAsJSON()
  expect(metrics.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['wardkeep_http_requests_total', 'process_cpu_seconds_total']),
  )
  const faults = metrics.flatMap(({ name, help, type }) => {
    const isCounter = String(type) === 'counter'
    return [
      ...(help ? [] : [`${name} has no help`]),
      ...(name.endsWith('_total') === isCounter ? [] : [`${name} is a ${type}`]),
      ...(/_(?:count|sum|bucket|info)$/.test(name) && !name.endsWith('version_info')
        ? [`${name} has an ending of other types`]
        : []),
      ...(/_(?:ms|milliseconds|minutes|hours|kb|mb)(?:_|$)/.test(name)
        ? [`${name} is in no base unit`]
        : []),
      ...(/^[a-z][a-z0-9_]*$/.test(name) ? [] : [`${name} is not in snake case`]),
    ]
  })
  expect(faults).toEqual([])
})
