/** Failures of an exchange. Each failure has a code for programs and a message for people. */

export const DIAL_FAILURES = [
  'address_forbidden',
  'name_not_resolved',
  'connection_refused',
  'connection_failed',
  'connection_lost',
  'tls_failed',
  'timed_out',
  'answer_invalid',
  'aborted',
] as const

export type DialFailure = (typeof DIAL_FAILURES)[number]

/** An error that ends an exchange. Its message is for people and contains only the host of the URL. */
export class DialError extends Error {
  readonly failure: DialFailure
  /** True if the connection closed before the first byte of a response arrived. */
  readonly noResponseBytes: boolean

  constructor(failure: DialFailure, message: string, noResponseBytes = false) {
    super(message)
    this.name = 'DialError'
    this.failure = failure
    this.noResponseBytes = noResponseBytes
  }
}

const codeOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? error.name

const UNREACHABLE: Record<string, string> = {
  EHOSTUNREACH: 'the host is not reachable',
  ENETUNREACH: 'the network is not reachable',
  EADDRNOTAVAIL: 'the network is not reachable',
  ETIMEDOUT: 'the host does not respond',
}

/** Converts an error that occurred while connecting. If several addresses failed, uses the error of the last one. */
export function connectError(error: Error): DialError {
  const last = error instanceof AggregateError ? (error.errors.at(-1) ?? error) : error
  const code = codeOf(last)
  if (code === 'ECONNREFUSED') return new DialError('connection_refused', 'connection refused')
  return new DialError('connection_failed', UNREACHABLE[code] ?? `no connection (${code})`)
}

const UNKNOWN_AUTHORITY = 'the certificate was issued by an unknown authority'
const NO_TLS = 'the server does not speak TLS on this port'
const NO_VERSION = 'the server does not support a secure TLS version (1.2 or newer)'

const TLS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate is revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  ECONNRESET: 'the connection closed during the TLS handshake',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: NO_VERSION,
  ERR_SSL_UNSUPPORTED_PROTOCOL: NO_VERSION,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
}

/** Converts an error of the TLS handshake. Also converts a TLS alert that closed the connection later. */
export function tlsError(error: Error): DialError {
  const code = codeOf(error)
  return new DialError('tls_failed', TLS[code] ?? `the TLS handshake failed (${code})`)
}

/** How much of a response has arrived: nothing, some bytes, or the status and headers. */
export type ResponseProgress = 'nothing' | 'something' | 'header'

/** Converts an error that occurred while sending a request or reading its response. */
export function answerError(error: Error, progress: ResponseProgress): DialError {
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new DialError('answer_invalid', 'the response headers are too large')
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED')
    return new DialError('connection_failed', `the request could not be sent: ${error.message}`)
  if (code.startsWith('ERR_SSL_')) return tlsError(error)
  if (isNoHttp(error, progress))
    return new DialError('answer_invalid', 'the response is not HTTP/1.1')
  return progress === 'nothing'
    ? new DialError('connection_lost', 'the connection closed without a response', true)
    : new DialError('connection_lost', 'the connection closed before the response was complete')
}

function isNoHttp(error: Error, progress: ResponseProgress): boolean {
  const code = codeOf(error)
  // undici's messages start with "bad" in two cases: a response without a request, and an upgrade that was not
  // requested.
  if (code === 'UND_ERR_SOCKET') return error.message.startsWith('bad ')
  // undici reports this code for a truncated body, and also for a content length that its parser rejects.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return progress !== 'header'
  // The other errors of the parser have no code. Only its EOF error means that the response is truncated.
  return error.name === 'HTTPParserError' && !error.message.includes('EOF')
}
