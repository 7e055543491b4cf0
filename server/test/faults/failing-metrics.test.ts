/** A metrics response contains every available series, even if one collector fails. */
import type { AddressInfo } from 'node:net'
import { Gauge } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { openMetrics } from '../../src/platform/observe/metrics.ts'

/** Scrapes once, with a series of this collector added. Returns the text and the warnings. */
async function scrape(collect: () => void | Promise<void>) {
  const warned: unknown[][] = []
  const log = { warn: (...line: unknown[]) => void warned.push(line) } as unknown as Logger
  const metrics = openMetrics(() => false, log, systemTime)
  const registers = [metrics.registry]
  new Gauge({ name: 'wardkeep_sick', help: 'cannot be told', registers, collect })
  const server = await metrics.serve('127.0.0.1', 0)
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
  expect(answer.status).toBe(200)
  return { text: await answer.text(), warned }
}

test.each([
  [
    'throws',
    () => {
      throw new Error('sick')
    },
    'sick',
  ],
  ['fails', () => Promise.reject(new Error('sick')), 'sick'],
  ['never ends', () => new Promise<void>(() => undefined), 'the metric took longer than 2 seconds'],
])(
  'the metrics response omits a metric whose collector %s, and the log names the metric',
  async (_what, collect, why) => {
    const { text, warned } = await scrape(collect)
    expect(text).toContain('wardkeep_outbound_held 0\n')
    expect(text).toContain('process_cpu_seconds_total ')
    expect(text).not.toContain('wardkeep_sick')
    expect(warned).toEqual([[{ err: new Error(why) }, 'collection of metric wardkeep_sick failed']])
  },
)
