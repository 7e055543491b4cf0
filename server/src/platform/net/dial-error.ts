/** What can go wrong with an exchange, in a word for programs and in words for people. */

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

/** Ends an exchange. Its message is for people, and holds nothing of the URL but its host. */
export class DialError extends Error {
  readonly failure: DialFailure
  /** Whether the connection broke before a single byte of an answer. */
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
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  EADDRNOTAVAIL: 'its network cannot be reached',
  ETIMEDOUT: 'the host does not answer',
}

/** What an error before the connection stood means. Several addresses fail together, each with an error. */
export function connectError(error: Error): DialError {
  const last = error instanceof AggregateError ? (error.errors.at(-1) ?? error) : error
  const code = codeOf(last)
  if (code === 'ECONNREFUSED') return new DialError('connection_refused', 'connection refused')
  return new DialError('connection_failed', UNREACHABLE[code] ?? `no connection (${code})`)
}

const UNKNOWN_AUTHORITY = 'the certificate comes from an unknown authority'
const NO_TLS = 'the server does not speak TLS there'
const NO_VERSION = 'the server speaks no TLS version that is safe (1.2 or newer)'

const TLS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'the certificate has expired',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  CERT_REVOKED: 'the certificate is revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  ECONNRESET: 'the connection ended during the TLS handshake',
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

/** What an error during the TLS handshake, or an alert that ended the connection later, means. */
export function tlsError(error: Error): DialError {
  const code = codeOf(error)
  return new DialError('tls_failed', TLS[code] ?? `the TLS handshake failed (${code})`)
}

/** How far an answer got: not a byte of it, some, or its status and header. */
export type ResponseProgress = 'nothing' | 'something' | 'header'

/** What an error while a request was sent or its answer read means. */
export function answerError(error: Error, progress: ResponseProgress): DialError {
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return new DialError('answer_invalid', 'the header of the answer is too large')
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_NOT_SUPPORTED')
    return new DialError('connection_failed', `the request cannot be sent: ${error.message}`)
  if (code.startsWith('ERR_SSL_')) return tlsError(error)
  if (isNoHttp(error, progress))
    return new DialError('answer_invalid', 'the answer is not HTTP/1.1')
  return progress === 'nothing'
    ? new DialError('connection_lost', 'the connection ended without an answer', true)
    : new DialError('connection_lost', 'the connection ended before the answer was complete')
}

function isNoHttp(error: Error, progress: ResponseProgress): boolean {
  const code = codeOf(error)
  // undici calls an answer bad that nobody asked for, and one that asks for another protocol.
  if (code === 'UND_ERR_SOCKET') return error.message.startsWith('bad ')
  // Said of a body that broke off, and also of a header with a length that its parser refused.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') return progress !== 'header'
  // The other errors of its parser have no code. One is about an answer that broke off.
  return error.name === 'HTTPParserError' && !error.message.includes('EOF')
}
