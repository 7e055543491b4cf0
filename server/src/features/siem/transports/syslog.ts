/**
 * Sends entries to a syslog receiver over TLS or TCP. Syslog has no acknowledgement, and what was written to a socket may
 * be lost if the receiver dies. So an entry counts as delivered only when the connection is still open some time after
 * the operating system has taken the entry.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Time } from '../../../lib/time.ts'
import {
  type NumberedEntry,
  type Receiver,
  ReceiverFault,
} from '../../../platform/journal/index.ts'
import { DialError, type OutgoingStream, type Streams } from '../../../platform/net/index.ts'

/** How long the connection has to stay open after a write, until the written entries count as delivered. */
const SETTLE_MS = 5_000
const CONNECT_MS = 10_000
const WRITE_MS = 30_000
/**
 * An idle connection is closed after this time. A firewall may have dropped it silently, and the first entries written to
 * it would be lost without an error. A new connection proves that the receiver is there.
 */
const IDLE_MS = 60_000

export interface SyslogOptions {
  streams: Streams
  clock: Time
  /** Returns a formatter whose sequence starts again, for each connection. */
  formatter: () => (entry: NumberedEntry) => string
  signal: AbortSignal
  onSent(count: number): void
}

interface Written {
  last: NumberedEntry
  at: number
}

export function syslogReceiver(options: SyslogOptions): Receiver {
  const { streams, clock, formatter, signal, onSent } = options
  let stream: OutgoingStream | undefined
  let format = formatter()
  let written: Written[] = []
  let usedAt = 0

  async function connected(): Promise<OutgoingStream> {
    // Without unconfirmed entries, the end of a connection loses nothing. Some receivers close idle connections.
    const isStale = stream && (stream.fault() || clock.monotonic() - usedAt >= IDLE_MS)
    if (stream && isStale && written.length === 0) {
      await stream.close()
      stream = undefined
    }
    if (stream) return stream
    stream = await streams.connect({ deadlineMs: CONNECT_MS, signal })
    format = formatter()
    return stream
  }

  return {
    async send(entries) {
      const last = entries.at(-1)
      if (!last) return
      try {
        const open = await connected()
        await open.write(Buffer.from(entries.map(format).join(''), 'latin1'), WRITE_MS)
      } catch (error) {
        throw faultOf(error)
      }
      usedAt = clock.monotonic()
      written.push({ last, at: usedAt })
      onSent(entries.length)
    },

    async confirmed() {
      const [first] = written
      if (!first) return undefined
      const now = clock.monotonic()
      // Lets the process handle an end of the connection that has arrived already, for example while it was suspended.
      for (let turn = 0; turn < 2; turn++) await nextTurn()
      const fault = stream?.fault()
      if (fault) throw faultOf(fault)
      const settled = written.filter(({ at }) => now - at >= SETTLE_MS)
      written = written.slice(settled.length)
      return settled.at(-1)?.last
    },

    async close() {
      await stream?.close()
    },
  }
}

function faultOf(error: unknown): unknown {
  return error instanceof DialError ? new ReceiverFault(error.message) : error
}
