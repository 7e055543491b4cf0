/**
 * Hides interim responses from undici, which ends the connection of a server that sends `100 Continue` unasked
 * (RFC 9110 §15.2).
 */
import type { Socket } from 'node:net'

export interface InterimFilter {
  /** Skips interim responses until `pass` is called; for the time before a response begins. */
  skip(): void
  /** Passes on everything: what comes now belongs to a response. */
  pass(): void
  /** Returns true once anything came since `skip`. */
  hasSkipped(): boolean
}

const START = 'HTTP/1.1 1'
const SWITCHING = 'HTTP/1.1 101'
const HEAD_END = '\r\n\r\n'
/** Bytes of a head that are waited for; undici judges what is longer. */
const MAX_HEAD = 16 * 1024

/** Filters what is read from the socket from now on. */
export function skipInterim(socket: Socket): InterimFilter {
  const read = socket.read.bind(socket)
  let isSkipping = false
  let hasSkipped = false
  let held: Buffer = Buffer.alloc(0)

  /** The bytes without interim responses in front; undefined while more are needed to know. */
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
      const bytes = held.length > 0 ? Buffer.concat([held, chunk]) : chunk
      const rest = stripped(bytes)
      held = rest === undefined ? bytes : Buffer.alloc(0)
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
 * Returns true for the beginning of an interim response, or what may become one. 101 is left to undici: nobody
 * asks for an upgrade.
 */
function isInterim(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, SWITCHING.length).replace(/^HTTP\/1\.0/, 'HTTP/1.1')
  if (start === '' || start === SWITCHING) return false
  return START.startsWith(start) || start.startsWith(START)
}
