/**
 * A server that speaks paygate's protocol, in the test's process. It can respond late, wrongly or never, and refuse
 * requests.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { atTheEnd } from './cleanup.ts'

export const SHOP = { id: '100500', key: 'live_the-secret-key-of-the-shop' }
export const CREDENTIALS = `Basic ${Buffer.from(`${SHOP.id}:${SHOP.key}`).toString('base64')}`

export interface ApiPayment {
  id: string
  status: 'pending' | 'waiting_for_capture' | 'canceled' | 'succeeded'
  amount: { value: string; currency: string }
  refunded_amount?: { value: string; currency: string }
  /** A time in ISO 8601. */
  created_at: string
  metadata?: Record<string, unknown>
  [other: string]: unknown
}

export interface ApiRefund {
  id: string
  payment_id: string
  status: 'pending' | 'canceled' | 'succeeded'
  amount: { value: string; currency: string }
}

export interface Asked {
  /** The path below the API's URL, such as `payments/1` or `payments?limit=…`. */
  path: string
  authorization: string | undefined
}

/** Replaces the correct response with raw bytes, or sends no response. */
export type Misbehaviour =
  | { status: number; body?: string; headers?: Record<string, string> }
  | 'stall'
  | 'reset'

export interface Paygate {
  /** `http://127.0.0.1:<port>/v3`, without a slash at its end. */
  url: string
  /** Every request, in order of arrival. */
  asked: Asked[]
  payments: Map<string, ApiPayment>
  refunds: Map<string, ApiRefund>
  /** Adds a payment, or changes it. */
  put(payment: Partial<ApiPayment> & { id: string }): ApiPayment
  /** Returns the payment provider's notification about this object, as the provider would send it now. */
  noticeOf(event: string, object: ApiPayment | ApiRefund): string
  /** Replaces the responses from now on. Undefined restores the correct responses. */
  misbehave(how: ((asked: Asked, index: number) => Misbehaviour | undefined) | undefined): void
  /** The number of requests without a response so far, and the largest number at one time. */
  open(): number
  mostOpen(): number
  /** Responds to stalled requests with the current state. */
  goOn(): void
  /** Accepts only these credentials from now on. */
  changeKey(key: string): void
  close(): Promise<void>
}

interface Stalled {
  asked: Asked
  response: ServerResponse
}

export async function openPaygateApi({ page = 100 }: { page?: number } = {}): Promise<Paygate> {
  const payments = new Map<string, ApiPayment>()
  const refunds = new Map<string, ApiRefund>()
  const asked: Asked[] = []
  const stalled: Stalled[] = []
  let how: Parameters<Paygate['misbehave']>[0]
  let credentials = CREDENTIALS
  let open = 0
  let mostOpen = 0

  function take(request: IncomingMessage, response: ServerResponse): void {
    open += 1
    mostOpen = Math.max(mostOpen, open)
    response.on('close', () => {
      open -= 1
    })
    const { authorization } = request.headers
    const one = { path: (request.url ?? '').replace(/^\/v3\//, ''), authorization }
    const index = asked.push(one) - 1
    const misbehaviour = how?.(one, index)
    if (misbehaviour === 'stall') stalled.push({ asked: one, response })
    else if (misbehaviour === 'reset') request.socket.resetAndDestroy()
    else if (misbehaviour) {
      const { status, headers = {}, body = '' } = misbehaviour
      response.writeHead(status, headers).end(body)
    } else answer(one, response)
  }

  function answer({ path, authorization }: Asked, response: ServerResponse): void {
    const [status, body] =
      authorization === credentials
        ? found(path)
        : [401, { type: 'error', code: 'invalid_credentials' }]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }

  function found(path: string): [number, object] {
    const url = new URL(path, 'http://paygate.test/')
    if (url.pathname === '/payments') return [200, listed(url.searchParams)]
    const [, kind, id = ''] = url.pathname.split('/')
    const object = kind === 'payments' ? payments.get(id) : refunds.get(id)
    return object ? [200, object] : [404, { type: 'error', code: 'not_found' }]
  }

  /** Sorts the newest first, as the provider's lists do. The cursor names the start of the next page. */
  function listed(query: URLSearchParams): object {
    const since = Date.parse(query.get('created_at.gte') ?? '')
    const size = Math.min(Number(query.get('limit')), page)
    const start = Number(query.get('cursor') ?? 0)
    const all = [...payments.values()]
      .filter(({ created_at }) => Date.parse(created_at) >= since)
      .sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
    const next = start + size
    return {
      type: 'list',
      items: all.slice(start, next),
      ...(next < all.length ? { next_cursor: String(next) } : {}),
    }
  }

  const server = createServer(take)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const close = async () => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  atTheEnd(close)
  return {
    url: `http://127.0.0.1:${port}/v3`,
    asked,
    payments,
    refunds,
    put(payment) {
      const whole: ApiPayment = {
        status: 'succeeded',
        amount: { value: '100.00', currency: 'EUR' },
        created_at: new Date().toISOString(),
        ...payments.get(payment.id),
        ...payment,
      }
      payments.set(whole.id, whole)
      return whole
    },
    noticeOf: (event, object) => JSON.stringify({ type: 'notification', event, object }),
    misbehave(next) {
      how = next
    },
    open: () => open,
    mostOpen: () => mostOpen,
    goOn() {
      for (const { asked: one, response } of stalled.splice(0)) answer(one, response)
    },
    changeKey(key) {
      credentials = `Basic ${Buffer.from(`${SHOP.id}:${key}`).toString('base64')}`
    },
    close,
  }
}
