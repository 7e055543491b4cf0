/**
 * Writes the lines of the log. Buffers lines briefly, writes one batch at a time and flushes the rest when the process
 * ends. If the output is blocked, for example by a full disk, the process does not crash and its exit is not delayed.
 */
import { write, writeSync } from 'node:fs'

/**
 * The number of buffered bytes from which a write starts immediately. With fewer bytes, the writer waits for more
 * lines.
 */
const AT_ONCE_BYTES = 8_192
const PAUSE_MS = 200
/** Delay before retrying an output that is temporarily full, such as a pipe whose reader is slow. */
const FULL_MS = 10
/** Maximum number of bytes to buffer for a blocked output. Further lines are dropped and counted. */
const MAX_BYTES = 4 * 1024 * 1024
/** How often to retry a full output when the process ends. */
const LAST_TRIES = 50

export interface Lines {
  write(line: string): void
  /** Flushes the buffered lines when the process ends. Gives up if the output stays blocked. */
  end(): void
}

/**
 * Creates the writer of a log.
 * @param fd an open file descriptor, which stays open
 * @param most maximum number of bytes to buffer; tests pass less
 */
export function openLines(fd: number, most = MAX_BYTES): Lines {
  /** The bytes that are being written. Bytes that the output has rejected stay here and are written first next time. */
  let begun: Buffer = Buffer.alloc(0)
  let waiting = ''
  let lost = 0
  let isWriting = false
  let timer: NodeJS.Timeout | undefined

  function later(ms = PAUSE_MS): void {
    timer ??= setTimeout(flush, ms).unref()
  }

  /** Removes and returns all buffered text, followed by a line with the number of dropped lines. */
  function take(): Buffer {
    const text = lost > 0 ? `${waiting}${lossOf(lost)}` : waiting
    waiting = ''
    lost = 0
    return Buffer.from(text)
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    if (isWriting) return
    if (begun.length === 0) begun = take()
    if (begun.length === 0) return
    isWriting = true
    write(fd, begun, (error, written) => {
      isWriting = false
      if (error) return later(isFull(error) ? FULL_MS : PAUSE_MS)
      begun = begun.subarray(written)
      if (begun.length > 0 || waiting.length >= AT_ONCE_BYTES) flush()
      else if (waiting) later()
    })
  }

  return {
    write(line) {
      if (waiting.length + line.length > most) {
        lost += 1
        return
      }
      waiting += line
      if (begun.length === 0 && waiting.length >= AT_ONCE_BYTES) flush()
      else later()
    },
    end() {
      // Excludes the bytes of a pending asynchronous write, which must not be written again.
      const rest = take()
      writeNow(fd, isWriting ? rest : Buffer.concat([begun, rest]))
      begun = Buffer.alloc(0)
    },
  }
}

const isFull = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EAGAIN'

const lossOf = (lost: number) =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lost, msg: 'log lines lost, because the output was blocked' })}\n`

function writeNow(fd: number, bytes: Buffer): void {
  let rest = bytes
  for (let tries = 0; rest.length > 0 && tries < LAST_TRIES; )
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (!isFull(error)) return
      tries += 1
      // Blocks the thread, because an exiting process cannot wait asynchronously.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_MS)
    }
}
