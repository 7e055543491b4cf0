/** What the parser refuses: no request comes of it, so no hook and no handler sees it. */
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
 * Answers what is no request as other refusals are, and ends the connection, as nobody knows where the next one
 * would begin (RFC 9112 §2.2).
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, log: Logger): void {
  // Whoever has gone hears no answer.
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const { code, status, message } = new Problem(CODES[error.code ?? ''] ?? 'unreadable_request')
  const req_id = randomUUID()
  log.info({ req_id, status, code, ip: socket.remoteAddress }, 'refused')
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
    // Without a phrase, which nobody goes by (RFC 9112 §4).
    socket.write(`HTTP/1.1 ${status} \r\n${head.join('')}\r\n${body}`)
  socket.destroy(error)
}
