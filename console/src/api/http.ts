/** Sends requests to the service and raises every refusal as an `ApiError`. */
import { noteAnswer, noteSilence } from './availability.ts'
import { PREFIX } from './prefix.ts'
import { ApiError, problemOf } from './problem.ts'

const TIMEOUT_MS = 30_000
const NOT_MODIFIED = 304

/**
 * Sends a request. A 304 response counts as a success.
 * @throws ApiError when the response is not a success, or no response arrives
 */
export async function send(request: Request): Promise<Response> {
  let response: Response
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), TIMEOUT_MS)
  try {
    response = await fetch(request, { signal: AbortSignal.any([request.signal, late.signal]) })
  } catch (error) {
    // An aborted request does not show whether the service is available.
    if (request.signal.aborted) throw error
    noteSilence()
    throw new ApiError({ status: 0, detail: 'Wardkeep does not respond.' })
  } finally {
    // A large body may take longer than the time limit for the response.
    clearTimeout(timer)
  }
  if (response.ok || response.status === NOT_MODIFIED) {
    noteAnswer(response.status)
    return response
  }
  const problem = await problemOf(response)
  noteAnswer(response.status, problem.retryAfter, problem.code)
  throw problem
}

/** Sends JSON to a path of the service, without an access token. */
export function sendJson(method: string, path: string, body: unknown): Promise<Response> {
  return send(
    new Request(`${PREFIX}${path}`, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      cache: 'no-store',
      // The sign-out request must reach the service even if the tab closes.
      keepalive: true,
    }),
  )
}
