/**
 * Where the log's lines go: gathered briefly, written one write after the other, and all of them when the process
 * ends. An output that takes none, as on a full disk, ends nothing and keeps nothing from its end.
 */
import { write, writeSync } from 'node:fs'

/** So much is written at once; less waits for more. */
const AT_ONCE_BYTES = 8_192
const PAUSE_MS = 200
/** Until an output is tried again that is full for the moment, as a pipe whose reader falls behind. */
const FULL_MS = 10
/** So much waits for an output that takes nothing; lines on top of it are lost, and counted. */
const MOST_BYTES = 4 * 1024 * 1024
/** How often one that is full for the moment is tried at the end. */
const LAST_TRIES = 50

export interface Lines {
  write(line: string): void
  /** Writes what waits, and gives up where that fails. For the end of the process. */
  end(): void
}

/**
 * @param fd an open file; it is not closed
 * @param most how many bytes wait, less in a test
 */
export function openLines(fd: number, most = MOST_BYTES): Lines {
  /** What is being written, or was refused and comes first the next time. */
  let begun: Buffer = Buffer.alloc(0)
  let waiting = ''
  let lost = 0
  let isWriting = false
  let timer: NodeJS.Timeout | undefined

  function later(ms = PAUSE_MS): void {
    timer ??= setTimeout(flush, ms).unref()
  }

  /** All that waits, and how many lines would have come behind it. */
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
      // What is under way is written by who has it.
      const rest = take()
      writeNow(fd, isWriting ? rest : Buffer.concat([begun, rest]))
      begun = Buffer.alloc(0)
    },
  }
}

const isFull = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EAGAIN'

const lossOf = (lost: number) =>
  `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), lost, msg: 'the output took nothing, and lines are lost' })}\n`

function writeNow(fd: number, bytes: Buffer): void {
  let rest = bytes
  for (let tries = 0; rest.length > 0 && tries < LAST_TRIES; )
    try {
      rest = rest.subarray(writeSync(fd, rest))
    } catch (error) {
      if (!isFull(error)) return
      tries += 1
      // The process has no turn any more to wait for.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_MS)
    }
}
