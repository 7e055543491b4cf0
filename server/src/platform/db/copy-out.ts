/** Streams COPY output. Extracts the rows from each chunk in place, without allocating memory per row. */
import type { Duplex } from 'node:stream'
import type pg from 'pg'
import { releaseChunk } from '../../lib/free-memory.ts'
import type { PgConnection } from './connection.ts'

const code = (letter: string) => letter.charCodeAt(0)
const ROWS = code('d')
/** The types of messages that are skipped: the start of the rows, and notices between rows. */
const PASSED_OVER: readonly number[] = ['H', 'N', 'S', 'A'].map(code)
/** Message header: type and length. */
const HEAD_BYTES = 5
/** The number of chunks to buffer. The socket can then be read while the consumer works. */
const AHEAD = 4

/**
 * Runs `copy … to stdout`. A buffer is valid until the next one is requested. If not read to the end, the connection
 * cannot be used again. @throws the database's error
 */
export async function* copyOut(client: PgConnection, text: string): AsyncGenerator<Buffer> {
  const copy = statement(text)
  client.query(copy)
  const rowsIn = openMessages()
  for (;;) {
    const chunk = await copy.next()
    const { rows, rest } = rowsIn(chunk)
    if (rows.length > 0) yield rows
    if (rest) return copy.end(rest)
    releaseChunk(chunk)
  }
}

/** Builds a statement that receives the socket's data instead of the driver while rows arrive. */
function statement(text: string) {
  const chunks: Buffer[] = []
  let socket: Duplex | undefined
  let driver: ((chunk: Buffer) => void) | undefined
  let failure: Error | undefined
  let isReady = false
  let wake: () => void = () => undefined
  const news = () =>
    new Promise<void>((resolve) => {
      wake = resolve
    })
  function onData(chunk: Buffer) {
    chunks.push(chunk)
    // Flowing mode delivers each chunk separately. Paused mode would join chunks, which costs a copy.
    if (chunks.length >= AHEAD) socket?.pause()
    wake()
  }

  function takeOver({ stream }: pg.Connection) {
    socket = stream
    driver = stream.listeners('data')[0] as (chunk: Buffer) => void
    stream.off('data', driver)
    stream.on('data', onData)
  }

  return {
    submit(connection: pg.Connection) {
      takeOver(connection)
      connection.query(text)
    },
    handleError(error: Error) {
      failure = error
      wake()
    },
    handleCommandComplete: () => undefined,
    handleReadyForQuery() {
      isReady = true
      wake()
    },

    async next(): Promise<Buffer> {
      for (;;) {
        if (failure) throw failure
        const chunk = chunks.shift()
        if (chunk) return chunk
        socket?.resume()
        await news()
      }
    },

    /** Returns the socket to the driver, which first receives the remaining data. */
    async end(rest: Buffer): Promise<void> {
      socket?.off('data', onData)
      if (driver) socket?.on('data', driver)
      for (const chunk of [rest, ...chunks]) driver?.(chunk)
      socket?.resume()
      while (!isReady) {
        if (failure) throw failure
        await news()
      }
    },
  }
}

/** Returns a function that compacts rows in place. It returns the first other message and all later data as `rest`. */
function openMessages() {
  const head = Buffer.alloc(HEAD_BYTES)
  let known = 0
  let left = 0
  let isRow = false
  return (chunk: Buffer): { rows: Buffer; rest?: Buffer } => {
    let length = 0
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const end = Math.min(chunk.length, at + left)
        if (isRow) {
          chunk.copyWithin(length, at, end)
          length += end - at
        }
        left -= end - at
        at = end
        continue
      }
      head[known] = chunk[at] as number
      known += 1
      at += 1
      if (known < HEAD_BYTES) continue
      known = 0
      left = head.readUInt32BE(1) - HEAD_BYTES + 1
      isRow = head[0] === ROWS
      if (!isRow && !PASSED_OVER.includes(head[0] as number))
        return { rows: chunk.subarray(0, length), rest: Buffer.concat([head, chunk.subarray(at)]) }
    }
    return { rows: chunk.subarray(0, length) }
  }
}
