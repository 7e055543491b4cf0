/** A proxy that maps `/app/` to the service and strips it, as a `PUBLIC_URL` with a path has one. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { atTheEnd } from './at-the-end.ts'
import type { Service } from './service.ts'

export const PREFIX = '/app'

/**
 * The path of the service that is reached by what a page names.
 * @param page the page's own path at the service
 * @throws Error for what leads out of the prefix, to somebody else
 */
export function pathBehind(named: string, page: string): string {
  const { pathname, search } = new URL(named, `http://proxy${PREFIX}${page}`)
  if (!pathname.startsWith(`${PREFIX}/`)) throw new Error(`${pathname} is not the service's`)
  return pathname.slice(PREFIX.length) + search
}

/** Opens the proxy; returns the address that `PUBLIC_URL` would hold. Closed with the test or its file. */
export async function openPrefixProxy(service: Service): Promise<string> {
  const proxy = createServer((request, response) => void passOn(service, request, response))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  atTheEnd(() => {
    proxy.closeAllConnections()
    return new Promise((resolve) => proxy.close(resolve))
  })
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PREFIX}`
}

async function passOn(service: Service, request: IncomingMessage, response: ServerResponse) {
  const { method, url = '', headers } = request
  if (!url.startsWith(`${PREFIX}/`)) return void response.writeHead(404).end()
  const { statusCode, rawPayload, ...answer } = await service.app.server.inject({
    method: method as 'GET',
    url: url.slice(PREFIX.length),
    headers,
    payload: await buffer(request),
  })
  response.writeHead(statusCode, answer.headers).end(rawPayload)
}
