/** Bounds what one connection makes the service hold: unanswered requests, and responses that nobody reads. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { SECOND } from '../../lib/clock.ts'

/**
 * Requests of a connection that wait for their responses. Node parses every pipelined request that it has
 * read, so a client that never reads could have thousands of responses kept for it. Browsers do not
 * pipeline, and clients that do have to repeat what was not answered (RFC 9112 §9.3.2).
 */
const MAX_UNANSWERED = 8
/** How long the client may leave a response unread. */
const UNREAD_MS = 30 * SECOND

type Server = FastifyInstance['server']
type Arrived = FastifyRequest['raw']
type Response = FastifyReply['raw']
type Socket = Arrived['socket']

interface Load {
  unanswered: number
  /** Set by one request too many: the connection ends with its last response. */
  isFull: boolean
}

/** Installs the bounds. Called after every listener for requests is in place. */
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
  // Emitted when a connection has neither read nor written anything for so long.
  server.setTimeout(unreadMs, (socket: Socket) => {
    const isIdle = (loads.get(socket)?.unanswered ?? 0) === 0
    if (isIdle || socket.writableLength > 0) socket.destroy()
  })
}
