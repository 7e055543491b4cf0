/**
 * COPY out of the database. The server sends each row as a message of its own: what is around the rows is
 * taken out where it lies, without an object or a piece of memory for any of them.
 */
import type { Duplex } from 'node:stream'
import type pg from 'pg'
import { letGo } from '../../lib/let-go.ts'
import type { Connection } from './connection.ts'

const code = (letter: string) => letter.charCodeAt(0)
const ROWS = code('d')
/** That rows begin, and what a server may say between them. */
const PASSED_OVER: readonly number[] = ['H', 'N', 'S', 'A'].map(code)
/** Of a message: what it is, and how long. */
const HEAD_BYTES = 5
/** Chunks that wait: the socket reads on while they are at work. */
const AHEAD = 4

/**
 * Runs `copy … to stdout`. What it yields is good until the next is asked for. A connection whose rows are
 * not asked for to their end is of no more use.
 * @throws what the database says
 */
export async function* copyOut(client: Connection, text: string): AsyncGenerator<Buffer> {
  const copy = statement(text)
  client.query(copy)
  const rowsIn = openMessages()
  for (;;) {
    const chunk = await copy.next()
    const { rows, rest } = rowsIn(chunk)
    if (rows.length > 0) yield rows
    if (rest) return copy.end(rest)
    letGo(chunk)
  }
}

/** The statement, to whom the server speaks past the driver while rows come. */
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
    // In this mode of a stream each comes by itself: in the other it would join them, which is a copy.
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

    /** Lets the driver hear again, first of all what has come last. */
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

/** Takes the rows out of chunks, in whose place they come to lie, until something else comes: that is the rest. */
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
