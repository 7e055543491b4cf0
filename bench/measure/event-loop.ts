/** The delay of a service's event loop, according to its metrics. */

const METRIC = /^nodejs_eventloop_lag_max_seconds(?:\{[^}]*\})? (\S+)$/m

/**
 * Returns the longest delay since the last read of the metrics, in milliseconds. The service samples every 10 ms, so
 * the value may include up to 10 ms before the delay.
 */
export async function longestHold(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text()
  return holdOf(text)
}

/** Reads the delay from the metrics. @throws Error if the metrics do not report it */
export function holdOf(metrics: string): number {
  const seconds = Number(METRIC.exec(metrics)?.[1])
  if (Number.isNaN(seconds)) throw new Error('the metrics tell nothing of the event loop')
  return seconds * 1000
}
