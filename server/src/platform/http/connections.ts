/** Limits what one connection can occupy: unanswered requests and unread responses. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SECOND } from '../../lib/clock.ts'

/**
 * Maximum number of unanswered requests per connection. A client that never reads could make Node buffer thousands of
 * responses. Browsers do not pipeline, and others must repeat unanswered requests (RFC 9112 §9.3.2).
 */
const MAX_UNANSWERED = 8
/** How long a response may wait until the client reads it. */
const UNREAD_MS = 30 * SECOND

type Server = FastifyInstance['server']
type Arrived = FastifyRequest['raw']
type Response = FastifyReply['raw']
type Socket = Arrived['socket']

interface Load {
  unanswered: number
  /** True after the first request beyond the limit. The connection then closes after its last response. */
  isFull: boolean
}

/** Installs the limits. Call this after every request listener is registered, because it wraps them. */
export function boundConnections(server: Server, unreadMs = UNREAD_MS): void {
  const loads = new WeakMap<Socket, Load>()

  function admit({ socket }: Arrived, response: Response): boolean {
    const load = loads.get(socket) ?? { unanswered: 0, isFull: false }
    loads.set(socket, load)
    if (load.unanswered >= MAX_UNANSWERED) {
      load.isFull = true
      socket.pause()
    }
    if (load.isFull) return false
    load.unanswered += 1
    response.once('close', () => {
      load.unanswered -= 1
      if (load.isFull && load.unanswered === 0) socket.destroySoon()
    })
    return true
  }

  for (const event of ['request', 'checkExpectation'] as const) {
    const handlers = server.listeners(event)
    server.removeAllListeners(event)
    server.on(event, (request: Arrived, response: Response) => {
      if (admit(request, response)) for (const handle of handlers) handle(request, response)
    })
  }
  // Node calls this when the connection has been idle in both directions for `unreadMs`.
  server.setTimeout(unreadMs, (socket: Socket) => {
    const isIdle = (loads.get(socket)?.unanswered ?? 0) === 0
    if (isIdle || socket.writableLength > 0) socket.destroy()
  })
}
