/** Loads an HTTP server with several connections, each of which sends the next request after a response. */
import autocannon, { type Client, type Request } from 'autocannon'

export interface Load {
  url: string
  connections: number
  seconds: number
  headers?: Record<string, string>
  /** The headers of several callers, who share the connections evenly. */
  callers?: Record<string, string>[]
  /** Builds each request. If absent, all requests are GETs of `url`. */
  request?: Request
}

/** Returns the number of 2xx responses per second. @throws Error if any response has another status */
export async function drive({
  url,
  connections,
  seconds,
  headers,
  callers,
  request,
}: Load): Promise<number> {
  let connection = 0
  const setupClient = (client: Client) => {
    client.setHeaders(callers?.[connection % callers.length])
    connection += 1
  }
  const result = await autocannon({
    url,
    connections,
    pipelining: 1,
    duration: seconds,
    timeout: 30,
    ...(headers ? { headers } : {}),
    ...(callers ? { setupClient } : {}),
    ...(request ? { requests: [request] } : {}),
  })
  const statuses = Object.entries(result.statusCodeStats ?? {})
    .map(([status, { count }]) => `${status}: ${count}`)
    .join(', ')
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(
      `${url}: ${result.errors} errors and answers other than 2xx (${statuses}); nothing was measured`,
    )
  return result['2xx'] / result.duration
}
