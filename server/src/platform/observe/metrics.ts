/** Prometheus metrics, served on a separate port (decisions §11). */
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

/** How long collecting one metric may take. A scrape omits metrics that take longer. */
const PATIENCE_MS = 2_000

export interface Metrics {
  answered(route: string, method: string, status: number, seconds: number): void
  /** The registry to which features add their own metrics. */
  readonly registry: Registry
  /** Serves `/metrics` on `host` and `port`. Also serves `/healthz` for processes without another HTTP server. */
  serve(host: string, port: number): Promise<Server>
}

/**
 * Gauges that have the suffix of counters, which `promtool check metrics` rejects. Other metrics contain the same
 * numbers.
 */
const MISNAMED = ['handles', 'requests', 'resources'].map((kind) => `nodejs_active_${kind}_total`)

let ofProcess: Registry | undefined

/**
 * Returns the metrics of Node and of the process. Creates them only once per process, even if it opens several
 * services, because their observers cannot be stopped.
 */
function processMetrics(): Registry {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
    for (const name of MISNAMED) ofProcess.removeSingleMetric(name)
  }
  return ofProcess
}

/**
 * Creates the metrics of a service.
 * @param isHeld returns true while outgoing mails, webhooks and messages are paused, for example in a restored copy
 */
export function openMetrics(isPaused: () => boolean, log: Logger, clock: Time): Metrics {
  const registry = new Registry()
  for (const { name } of processMetrics().getMetricsAsArray())
    registry.registerMetric(processMetrics().getSingleMetric(name) as Metric)
  new Gauge({
    name: 'wardkeep_outbound_held',
    help: '1 while outgoing mails, webhooks and messages are held until an operator releases them',
    registers: [registry],
    collect() {
      this.set(isPaused() ? 1 : 0)
    },
  })
  const requests = new Counter({
    name: 'wardkeep_http_requests_total',
    help: 'Requests by route, method and status',
    labelNames: ['route', 'method', 'status'] as const,
    registers: [registry],
  })
  const duration = new Histogram({
    name: 'wardkeep_http_request_seconds',
    help: 'Response time in seconds',
    labelNames: ['route'] as const,
    buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10],
    registers: [registry],
  })
  // Caches each series, because finding it by its labels costs more than counting. There are few routes and statuses.
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
          .end(await render(registry, log, clock))
      })
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, resolve)
      })
      return server
    },
  }
}

/** Returns all metrics as text. Omits metrics that fail or take too long, and logs the reason. */
async function render(registry: Registry, log: Logger, clock: Time): Promise<string> {
  const rendered = await Promise.all(
    registry
      .getMetricsAsArray()
      .map(({ name }) =>
        canFail(
          inTime(clock, registry.getSingleMetricAsString(name)),
          `collection of metric ${name}`,
          log,
        ),
      ),
  )
  return `${rendered.filter((series) => series !== undefined).join('\n\n')}\n`
}

async function inTime(clock: Time, rendering: Promise<string>): Promise<string> {
  if (await within(clock, PATIENCE_MS, rendering)) return rendering
  throw new Error(`the metric took longer than ${PATIENCE_MS / 1000} seconds`)
}
