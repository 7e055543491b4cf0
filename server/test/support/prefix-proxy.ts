/** A proxy that maps `/app/` to the service and removes this prefix, for a `PUBLIC_URL` with a path. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { atTheEnd } from './cleanup.ts'
import type { Service } from './service.ts'

export const PREFIX = '/app'

/**
 * Returns the path at the service to which a link on a page leads.
 * @param named the link as written in the page
 * @param page the page's own path at the service
 * @throws Error for a link that leaves the prefix
 */
export function pathBehind(named: string, page: string): string {
  const { pathname, search } = new URL(named, `http://proxy${PREFIX}${page}`)
  if (!pathname.startsWith(`${PREFIX}/`)) throw new Error(`${pathname} is not the service's`)
  return pathname.slice(PREFIX.length) + search
}

/** Opens the proxy, which closes at the end of the test or its file. Returns the address for `PUBLIC_URL`. */
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
