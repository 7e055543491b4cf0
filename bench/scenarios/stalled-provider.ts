/** Acceptance of paygate's notifications while its API stalls, compared with while its API responds. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { compare } from '../measure/compare.ts'
import { drive } from '../measure/load.ts'
import { perSecond } from '../measure/table.ts'
import { type Service, startService } from '../service.ts'
import { CONNECTIONS, type Scenario } from './scenario.ts'

/** Opens a fake paygate API: it never responds below `/stalls`, and reports payments as unknown on all other paths. */
async function openApi() {
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/stalls')) return
    response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const settingsOf = (url: string) => ({
  PAYGATE_API_URL: url,
  PAYGATE_SHOP_ID: '100500',
  PAYGATE_SECRET_KEY: 'of-the-bench',
  PAYGATE_ALLOWED_NETWORKS: '127.0.0.1',
  PAYGATE_RECONCILE_MINUTES: '0',
  PAYMENT_RATE_LIMIT_PER_MINUTE: '0',
})

/** Returns the accepted notifications per second, each of a new payment, 1 KiB long. */
const accepted = (service: Service, seconds: number) =>
  drive({
    url: service.url,
    connections: CONNECTIONS,
    seconds,
    request: {
      method: 'POST',
      path: '/webhooks/paygate',
      headers: { 'content-type': 'application/json' },
      setupRequest: (request) => ({ ...request, body: notice() }),
    },
  })

function notice(): string {
  const object = { id: randomUUID(), status: 'succeeded', description: 'x'.repeat(900) }
  return JSON.stringify({ type: 'notification', event: 'payment.succeeded', object })
}

export const stalledProvider: Scenario = async (environment, pace) => {
  const api = await openApi()
  /** Starts a separate service for each turn, because the remaining work of another turn would slow it down. */
  const contender = (url: string) => async (seconds: number) => {
    const service = await startService(environment.emptyFolder(), settingsOf(url))
    try {
      await accepted(service, 1)
      return await accepted(service, seconds)
    } finally {
      await service.stop()
    }
  }
  try {
    const stalled = contender(`${api.url}/stalls`)
    const answered = contender(`${api.url}/answers`)
    const { ours, baseline, ratio } = await compare(stalled, answered, pace)
    return [
      {
        name: "paygate's notices taken while its API stalls, against while it answers",
        ours: perSecond(ours),
        limit: perSecond(baseline),
        ratio,
        aim: { atLeast: 0.9 },
      },
    ]
  } finally {
    api.close()
  }
}
