/**
 * Hides interim responses from undici. undici would close the connection if a server sends an unexpected `100 Continue`
 * (RFC 9110 §15.2).
 */
import type { Socket } from 'node:net'

export interface InterimFilter {
  /** Starts to drop interim responses. Call this before a response begins. */
  skip(): void
  /** Stops dropping. All following bytes belong to the response and are passed on. */
  pass(): void
  /** Returns true if any bytes have arrived since the last `skip`. */
  hasSkipped(): boolean
}

const START = 'HTTP/1.1 1'
const SWITCHING = 'HTTP/1.1 101'
const HEAD_END = '\r\n\r\n'
/** Maximum size of an incomplete interim response in bytes. Longer data is passed on to undici. */
const MAX_HEAD = 16 * 1024

/** Installs the filter on a socket. The filter sees all data that is read from now on. */
export function skipInterim(socket: Socket): InterimFilter {
  const read = socket.read.bind(socket)
  let isSkipping = false
  let hasSkipped = false
  let buffered: Buffer = Buffer.alloc(0)

  /** Removes interim responses from the start of `bytes`. Returns undefined if more bytes are needed to decide. */
  function stripped(bytes: Buffer): Buffer | undefined {
    let rest = bytes
    while (isInterim(rest)) {
      const end = rest.indexOf(HEAD_END)
      if (end === -1) return rest.length > MAX_HEAD ? rest : undefined
      rest = rest.subarray(end + HEAD_END.length)
    }
    return rest
  }

  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk = read(size) as Buffer | null
      if (chunk === null || !isSkipping) return chunk
      hasSkipped = true
      const bytes = buffered.length > 0 ? Buffer.concat([buffered, chunk]) : chunk
      const rest = stripped(bytes)
      buffered = rest === undefined ? bytes : Buffer.alloc(0)
      if (rest !== undefined && rest.length > 0) return rest
    }
  }
  return {
    skip() {
      isSkipping = true
      hasSkipped = false
    },
    pass() {
      isSkipping = false
    },
    hasSkipped: () => hasSkipped,
  }
}

/**
 * Returns true if the bytes are the start of an interim response, even an incomplete one. A 101 is passed on to undici,
 * because no request asks for an upgrade.
 */
function isInterim(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, SWITCHING.length).replace(/^HTTP\/1\.0/, 'HTTP/1.1')
  if (start === '' || start === SWITCHING) return false
  return START.startsWith(start) || start.startsWith(START)
}
