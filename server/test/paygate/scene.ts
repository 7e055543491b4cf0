/** paygate's API as the service uses it, with a fake server that speaks its protocol. */
import { onTestFinished } from 'vitest'
import { openPaygateApi as openApi } from '../../src/features/payments/paygate/api.ts'
import { readBack } from '../../src/features/payments/paygate/read-back.ts'
import { openUpstream, type Upstream } from '../../src/platform/net/index.ts'
import type { Logger } from '../../src/platform/observe/log.ts'
import { openPaygateApi, SHOP } from '../support/paygate.ts'

export async function openScene(options: Parameters<typeof openPaygateApi>[0] = {}) {
  const paygate = await openPaygateApi(options)
  const logged: unknown[][] = []
  const at = (...line: unknown[]) => void logged.push(line)
  const log: Logger = { debug: at, info: at, warn: at, error: at }
  const network = openUpstream({ url: paygate.url })
  onTestFinished(() => network.close())
  const requests: Parameters<Upstream['send']>[0][] = []
  const upstream: Upstream = {
    ...network,
    send(request) {
      requests.push(request)
      return network.send(request)
    },
  }
  const { id: shopId, key: secretKey } = SHOP
  const clock = { now: 5 }
  const now = async () => clock.now
  const api = openApi({ upstream, url: paygate.url, shopId, secretKey, now, log })
  const cut = new AbortController()
  const ask = readBack(api)
  return {
    paygate,
    upstream,
    api,
    logged,
    /** The requests as they are passed to the network. */
    requests,
    cut,
    /** The clock that all nodes share. */
    clock,
    /** Reads the notification with this body back from the API and returns the result. */
    read: (body: string) => ask(Buffer.from(body), cut.signal),
  }
}
