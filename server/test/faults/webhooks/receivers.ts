/** Twenty receivers in a separate process. Some work and some fail, and all record the messages that arrive. */
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { refusedPort } from '../../support/refused-port.ts'

export const BEHAVIOURS = [
  ...Array.from({ length: 12 }, () => 'healthy' as const),
  'refuses',
  'refuses',
  'stalls',
  'resets',
  'errs',
  'errs',
  'slow',
  'flaky',
] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

export type Question = { about: 'missing'; ids: string[] } | { about: 'count' }

/** The record of one receiver. */
export interface Account {
  /** Accepted requests, including repeated ones. */
  taken: number
  /** The number of different messages among the accepted requests. */
  distinct: number
  /** How many of the expected IDs have not arrived. */
  missing: number
  /** Requests that did not verify, and requests that differed from an earlier one for the same event. */
  wrong: string[]
}

interface Ledger {
  taken: number
  /** The event's number and the body's digest, by message ID. */
  seen: Map<string, string>
  /** The message ID, by event. */
  ids: Map<number, string>
  wrong: string[]
}

const ledgers: Ledger[] = BEHAVIOURS.map(() => ({
  taken: 0,
  seen: new Map(),
  ids: new Map(),
  wrong: [],
}))

function note(verifier: Webhook, ledger: Ledger, request: IncomingMessage, body: string): void {
  ledger.taken += 1
  try {
    const headers = request.headers as Record<string, string>
    const message = verifier.verify(body, headers) as { id: string; data: { entry_id: number } }
    const id = headers['webhook-id'] ?? ''
    const digest = createHash('sha256').update(body).digest('base64')
    const known = ledger.ids.get(message.data.entry_id)
    if (message.id !== id || (known !== undefined && known !== id))
      ledger.wrong.push(`${id} is another id of event ${message.data.entry_id}`)
    if ((ledger.seen.get(id) ?? digest) !== digest) ledger.wrong.push(`${id} came with other bytes`)
    ledger.ids.set(message.data.entry_id, id)
    ledger.seen.set(id, digest)
  } catch (error) {
    ledger.wrong.push(String(error))
  }
}

function answer(behaviour: Behaviour, request: IncomingMessage, response: ServerResponse): void {
  if (behaviour === 'stalls') return
  if (behaviour === 'resets') return void request.socket.resetAndDestroy()
  if (behaviour === 'slow') return void setTimeout(() => response.end(), 200)
  if (behaviour === 'errs' || (behaviour === 'flaky' && Math.random() < 0.3))
    response.statusCode = 500
  response.end('thanks')
}

function receive(verifier: Webhook, index: number): Server {
  const behaviour = BEHAVIOURS[index] as Behaviour
  const ledger = ledgers[index] as Ledger
  return createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    request.once('end', () => {
      note(verifier, ledger, request, body)
      answer(behaviour, request, response)
    })
    // Ignores errors, because a sender that is killed leaves an incomplete request.
    request.on('error', () => undefined)
  })
}

function tell(question: Question): Account[] {
  return ledgers.map(({ taken, seen, wrong }) => ({
    taken,
    distinct: seen.size,
    wrong: wrong.slice(0, 5),
    missing: question.about === 'missing' ? question.ids.filter((id) => !seen.has(id)).length : 0,
  }))
}

if (import.meta.main) {
  // The secret is new in each run, so that requests from another run do not verify.
  const verifier = new Webhook(process.argv[2] ?? '')
  const ports = await Promise.all(
    BEHAVIOURS.map(async (behaviour, index) => {
      if (behaviour === 'refuses') return (await refusedPort()).port
      const server = receive(verifier, index)
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
      return (server.address() as AddressInfo).port
    }),
  )
  process.on('message', (question: Question) => void process.send?.(tell(question)))
  process.on('disconnect', () => process.exit())
  process.send?.(ports)
}
