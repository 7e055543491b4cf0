/** A scrape tells what it can, whatever becomes of a single series. */
import type { AddressInfo } from 'node:net'
import { Gauge } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { systemTime } from '../../src/lib/time.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { openMetrics } from '../../src/platform/observe/metrics.ts'

/** Scrapes once, with a series of this collector beside the others. Returns the text, and what was warned of. */
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
  ['never ends', () => new Promise<void>(() => undefined), 'it took more than 2 seconds'],
])('a series whose collector %s is left out, and the log names it', async (_what, collect, why) => {
  const { text, warned } = await scrape(collect)
  expect(text).toContain('wardkeep_outbound_held 0\n')
  expect(text).toContain('process_cpu_seconds_total ')
  expect(text).not.toContain('wardkeep_sick')
  expect(warned).toEqual([[{ err: new Error(why) }, 'telling wardkeep_sick failed']])
})
