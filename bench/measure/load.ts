/** Puts load on an HTTP server: so many connections, each sending when its last answer has come. */
import autocannon, { type Request } from 'autocannon'

export interface Load {
  url: string
  connections: number
  seconds: number
  headers?: Record<string, string>
  /** Makes each request anew; without it all are plain GETs of `url`. */
  request?: Request
}

/** Answers the requests that were answered 2xx, a second. @throws Error when any was not */
export async function drive({
  url,
  connections,
  seconds,
  headers,
  request,
}: Load): Promise<number> {
  const result = await autocannon({
    url,
    connections,
    pipelining: 1,
    duration: seconds,
    timeout: 30,
    ...(headers ? { headers } : {}),
    ...(request ? { requests: [request] } : {}),
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(
      `${url}: ${result.non2xx} answers other than 2xx and ${result.errors} errors; nothing was measured`,
    )
  return result['2xx'] / result.duration
}
