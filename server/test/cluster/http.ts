/** Calls to the nodes, as a caller sees them. */

/** The answer of a node to a call. */
export interface CallResult {
  /** Null if no answer came. */
  status: number | null
  retryAfter: string | null
  body: any
  sentAt: number
  answeredAt: number
}

/** How long a caller waits. No answer within this time is a fault. */
export const PATIENCE_MS = 40_000

/** Sends one request. A failed connection is a result without a status. */
export async function call(
  address: string,
  method: string,
  path: string,
  { token, body }: { token?: string | undefined; body?: unknown } = {},
): Promise<CallResult> {
  const sentAt = performance.now()
  try {
    const response = await fetch(address + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') && text !== ''
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: isJson ? JSON.parse(text) : text,
      sentAt,
      answeredAt: performance.now(),
    }
  } catch (error) {
    const { name, message } = error as Error
    const body = { detail: `${name}: ${message}` }
    return { status: null, retryAfter: null, body, sentAt, answeredAt: performance.now() }
  }
}

/** Sends a request that has to succeed. Returns its body. @throws Error with the answer */
export async function mustCall(...request: Parameters<typeof call>): Promise<any> {
  const { status, body } = await call(...request)
  if (status === null || status >= 300)
    throw new Error(`${request[1]} ${request[2]} answered ${status}: ${JSON.stringify(body)}`)
  return body
}
