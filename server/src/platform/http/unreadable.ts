/** Answers requests that Node's HTTP parser rejects, because no hook or handler runs for them. */
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { Problem, type ProblemCode } from '../../lib/problems.ts'
import type { Logger } from '../observe/log.ts'
import { SECURITY_HEADERS } from './headers.ts'

const CODES: Record<string, ProblemCode> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_late',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/**
 * Answers a malformed request and closes the connection, because the next request's start is unknown (RFC 9112 §2.2).
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, log: Logger): void {
  // A client that has disconnected cannot receive a response.
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const { code, status, message } = new Problem(CODES[error.code ?? ''] ?? 'unreadable_request')
  const req_id = randomUUID()
  log.info({ req_id, status, code, ip: socket.remoteAddress }, 'request rejected')
  const body = JSON.stringify({ detail: message, code })
  const headers = {
    ...SECURITY_HEADERS,
    'x-request-id': req_id,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  if (socket.writable)
    // The status line has no reason phrase, because clients ignore it (RFC 9112 §4).
    socket.write(`HTTP/1.1 ${status} \r\n${head.join('')}\r\n${body}`)
  socket.destroy(error)
}
