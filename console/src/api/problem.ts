/** Turns refused and failed requests into one typed error. */

/** One fault of the input, as listed in a 422 response. */
export interface Issue {
  loc: readonly (string | number)[]
  msg: string
}

interface ApiErrorFields {
  /** The HTTP status, or 0 when no response arrived. */
  status: number
  detail: string
  code?: string | undefined
  issues?: readonly Issue[]
  /** Seconds to wait before the next attempt. */
  retryAfter?: number | undefined
  requestId?: string | undefined
}

/** A request that the service refused, or that got no response. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string | undefined
  readonly detail: string
  readonly issues: readonly Issue[]
  readonly retryAfter: number | undefined
  readonly requestId: string | undefined
  readonly receivedAt = Date.now()

  constructor(fields: ApiErrorFields) {
    super(fields.detail)
    this.status = fields.status
    this.code = fields.code
    this.detail = fields.detail
    this.issues = fields.issues ?? []
    this.retryAfter = fields.retryAfter
    this.requestId = fields.requestId
  }

  /** True if the service did not process the request, so that sending it again is safe. */
  get isUnavailable(): boolean {
    return this.status === 503
  }

  /**
   * True if the service itself did not respond, because the connection failed or a proxy could not reach the service.
   */
  get isUnreachable(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504
  }

  /** True if the same request may succeed later. */
  get isPassing(): boolean {
    return this.isUnavailable || this.isUnreachable || this.status === 429
  }
}

const DEFAULT_RETRY_SECONDS = 5
const MAX_RETRY_SECONDS = 30

/** Returns how many seconds to wait before the request is sent again. Limits the wait, except after a rate limit. */
export function retryDelayOf({ retryAfter = DEFAULT_RETRY_SECONDS, status }: ApiError): number {
  return Math.max(1, status === 429 ? retryAfter : Math.min(retryAfter, MAX_RETRY_SECONDS))
}

/** Reads the error from a refused response. If a proxy sent the response, its body may have any format. */
export async function problemOf(response: Response): Promise<ApiError> {
  const body = await readObject(response)
  const { detail, code } = body
  return new ApiError({
    status: response.status,
    detail: typeof detail === 'string' ? detail : `HTTP ${response.status}`,
    code: typeof code === 'string' ? code : undefined,
    issues: Array.isArray(detail) ? detail.flatMap(readIssue) : [],
    retryAfter: readRetryAfter(response.headers.get('retry-after'), Date.now()),
    requestId: response.headers.get('x-request-id') ?? undefined,
  })
}

/** Returns the seconds of a `Retry-After` header, which is a number of seconds or a date. */
export function readRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null || header.trim() === '') return undefined
  const seconds = /^\d+$/.test(header.trim())
    ? Number(header)
    : Math.ceil((Date.parse(header) - now) / 1000)
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

async function readObject(response: Response): Promise<Record<string, unknown>> {
  const body: unknown = await response.json().catch(() => undefined)
  return isObject(body) ? body : {}
}

function readIssue(issue: unknown): Issue[] {
  if (!isObject(issue) || !Array.isArray(issue.loc) || typeof issue.msg !== 'string') return []
  return [
    {
      loc: issue.loc.map((step) => (typeof step === 'number' ? step : String(step))),
      msg: issue.msg,
    },
  ]
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
