/** A syslog receiver over TLS in a separate process. It counts messages with octet counting (RFC 6587, 3.4.1). */
import { readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { sharedMs } from '../measure/clock.ts'
import { answer } from './answer.ts'

/** The questions to the receiver. */
export type Question =
  /** Listens with the key and the certificate of these files (PEM). */
  | { what: 'open'; keyFile: string; certificateFile: string }
  /** Forgets everything that has arrived. */
  | { what: 'reset' }
  /** Waits until this many messages have arrived, or until no byte has arrived for this long. */
  | { what: 'wait'; messages: number; patienceMs: number }
  /** Writes the bytes that have arrived to a file, as received. */
  | { what: 'save'; file: string }

/** The answers to the questions. */
export interface Answers {
  /** The port of 127.0.0.1. */
  open: number
  reset: null
  wait: Arrivals
  save: null
}

/** The messages since the last reset. Times are measured with `sharedMs`. */
export interface Arrivals {
  messages: number
  bytes: number
  connections: number
  /** The arrival of the first bytes. */
  firstAt: number
  /** The arrival of the end of the last message. */
  lastAt: number
}

const SPACE = 0x20
const ZERO = 0x30

let chunks: Buffer[] = []
let arrivals = none()
let onMessages = (): void => undefined

function none(): Arrivals {
  return { messages: 0, bytes: 0, connections: 0, firstAt: 0, lastAt: 0 }
}

/** Returns a function that counts the messages of one connection. */
function counter(): (chunk: Buffer) => number {
  /** The bytes of the current message that have not arrived yet. Zero while its length is read. */
  let missing = 0
  let length = 0
  return (chunk) => {
    let ended = 0
    for (let at = 0; at < chunk.length; ) {
      if (missing > 0) {
        const step = Math.min(missing, chunk.length - at)
        at += step
        missing -= step
        if (missing === 0) ended += 1
        continue
      }
      const byte = chunk[at] ?? 0
      at += 1
      if (byte === SPACE && length > 0) {
        missing = length
        length = 0
      } else if (byte >= ZERO && byte <= ZERO + 9) length = length * 10 + byte - ZERO
      else throw new Error(`the byte ${byte} is not part of the length of a message`)
    }
    return ended
  }
}

async function open(keyFile: string, certificateFile: string): Promise<number> {
  const [key, cert] = await Promise.all([readFile(keyFile), readFile(certificateFile)])
  const server = createServer({ key, cert }, (socket) => {
    const count = counter()
    arrivals.connections += 1
    socket.on('data', (chunk) => {
      if (arrivals.bytes === 0) arrivals.firstAt = sharedMs()
      chunks.push(chunk)
      arrivals.bytes += chunk.length
      const ended = count(chunk)
      if (ended === 0) return
      arrivals.messages += ended
      arrivals.lastAt = sharedMs()
      onMessages()
    })
    // The service destroys its connection when it stops.
    socket.on('error', () => undefined)
  })
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )
}

function wait(wanted: number, patienceMs: number): Promise<Arrivals> {
  let bytes = arrivals.bytes
  let movedAt = sharedMs()
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(impatience)
      onMessages = () => undefined
      resolve(arrivals)
    }
    const impatience = setInterval(() => {
      if (arrivals.bytes > bytes) movedAt = sharedMs()
      bytes = arrivals.bytes
      if (sharedMs() - movedAt > patienceMs) end()
    }, 100)
    onMessages = () => {
      if (arrivals.messages >= wanted) end()
    }
    onMessages()
  })
}

answer(async (question: Question) => {
  switch (question.what) {
    case 'open':
      return open(question.keyFile, question.certificateFile)
    case 'reset':
      chunks = []
      arrivals = none()
      return null
    case 'wait':
      return wait(question.messages, question.patienceMs)
    case 'save':
      await writeFile(question.file, chunks)
      return null
  }
})
