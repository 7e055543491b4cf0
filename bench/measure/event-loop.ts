/** How long a service's event loop was held, as its metrics tell. */

const METRIC = /^nodejs_eventloop_lag_max_seconds(?:\{[^}]*\})? (\S+)$/m

/**
 * The longest hold since the metrics were last read, in milliseconds: the service looks every 10 ms,
 * so that up to 10 ms of what is told passed before the hold began.
 */
export async function longestHold(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text()
  return holdOf(text)
}

/** @throws Error when the metrics do not tell */
export function holdOf(metrics: string): number {
  const seconds = Number(METRIC.exec(metrics)?.[1])
  if (Number.isNaN(seconds)) throw new Error('the metrics tell nothing of the event loop')
  return seconds * 1000
}
