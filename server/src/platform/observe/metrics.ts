/** Prometheus metrics, served on a port of their own (decisions §11). */
import { createServer, type Server } from 'node:http'
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client'
import type { Time } from '../../lib/time.ts'
import { within } from '../../lib/within.ts'
import { canFail } from './can-fail.ts'
import type { Logger } from './log.ts'

/** What cannot tell its series within this is left out of a scrape. */
const PATIENCE_MS = 2_000

export interface Metrics {
  answered(route: string, method: string, status: number, seconds: number): void
  /** Where features register series of their own. */
  readonly registry: Registry
  /** Serves `/metrics`, and `/healthz` for processes that answer nothing else, on `port` of `host`. */
  serve(host: string, port: number): Promise<Server>
}

/** Gauges with the ending of counters, which `promtool check metrics` refuses. They sum up others. */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

let ofProcess: Registry | undefined

/**
 * The metrics of Node and of the process. They are collected once however many services the process
 * opens: their observers cannot be ended.
 */
function processMetrics(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    for (const name of MISNAMED) ofProcess.removeSingleMetric(name)
  }
  return ofProcess
}

/** @param isHeld whether mails, webhooks and messages wait, as in a restored copy */
export function openMetrics(isHeld: () => boolean, log: Logger, clock: Time): Metrics {
  const registry = new Registry()
  for (const { name } of processMetrics().getMetricsAsArray())
    registry.registerMetric(processMetrics().getSingleMetric(name) as Metric)
  new Gauge({
    name: 'wardkeep_outbound_held',
    help: '1 while mails, webhooks and messages wait for a release',
    registers: [registry],
    collect() {
      this.set(isHeld() ? 1 : 0)
    },
  })
  const requests = new Counter({
    name: 'wardkeep_http_requests_total',
    help: 'Requests answered',
    labelNames: ['route', 'method', 'status'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'wardkeep_http_request_seconds',
    help: 'Seconds from the request to its answer',
    labelNames: ['route'] as const,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10],
    registers: [registry],
  })
  // Looking a series up by its labels costs more than counting; routes and statuses are few.
  const known = new Map<string, { count: Counter.Internal; time: Histogram.Internal<'route'> }>()
  return {
    registry,
    answered(route, method, status, seconds) {
      const key = `${method} ${status} ${route}`
      let series = known.get(key)
      if (!series) {
        series = {
          count: requests.labels({ route, method, status }),
          time: duration.labels({ route }),
        }
        known.set(key, series)
      }
      series.count.inc()
      series.time.observe(seconds)
    },
    async serve(host, port) {
      const server = createServer(async (request, response) => {
        if (request.url === '/healthz') return void response.end('ok\n')
        if (request.url !== '/metrics') return void response.writeHead(404).end()
        response
          .writeHead(200, { 'content-type': registry.contentType })
          .end(await tell(registry, log, clock))
      })
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, resolve)
      })
      return server
    },
  }
}

/** All series but those that cannot be told now: of these the log says why. */
async function tell(registry: Registry, log: Logger, clock: Time): Promise<string> {
  const told = await Promise.all(
    registry
      .getMetricsAsArray()
      .map(({ name }) =>
        canFail(inTime(clock, registry.getSingleMetricAsString(name)), `telling ${name}`, log),
      ),
  )
  return `${told.filter((series) => series !== undefined).join('\n\n')}\n`
}

async function inTime(clock: Time, telling: Promise<string>): Promise<string> {
  if (await within(clock, PATIENCE_MS, telling)) return telling
  throw new Error(`it took more than ${PATIENCE_MS / 1000} seconds`)
}
