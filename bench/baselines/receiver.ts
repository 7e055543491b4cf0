/** The receivers of webhooks: servers in a separate process that respond 200 and record each message with its time. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sharedMs } from '../measure/clock.ts'
import { answer } from './answer.ts'

/** The questions to the receivers. */
export type Question =
  /** Opens this many servers. */
  | { what: 'open'; servers: number }
  /** Waits until this many messages have arrived in total, or until no message has arrived for this long. */
  | { what: 'wait'; messages: number; patienceMs: number }
  /** Returns the first message as received. */
  | { what: 'sample' }
  /** Returns the arrivals of the messages with these ids at one server. */
  | { what: 'find'; server: number; ids: string[] }

/** The answers to the questions. Times are measured with `sharedMs`. A repeated message counts once. */
export interface Answers {
  /** The servers' addresses. */
  open: string[]
  wait: { messages: number; lastAt: number }
  sample: Sample
  /** The first arrival of each message, null if missing, and the number of repetitions. */
  find: { arrivedAt: (number | null)[]; repeated: number }
}

export interface Sample {
  headers: Record<string, string>
  body: string
}

type Inbox = Map<string, { at: number; times: number }>

const inboxes: Inbox[] = []
let sample: Sample | undefined
let messages = 0
let lastAt = 0
let onMessage = (): void => undefined

async function open(): Promise<string> {
  const inbox: Inbox = new Map()
  inboxes.push(inbox)
  // Connections stay open longer than the pauses between turns, so that none closes while a message is sent.
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) =>
    take(inbox, request, response),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function take(inbox: Inbox, request: IncomingMessage, response: ServerResponse): void {
  if (!sample) keepAsSample(request)
  request.resume().once('end', () => {
    note(inbox, String(request.headers['webhook-id']))
    response.end()
  })
}

function keepAsSample(request: IncomingMessage): void {
  const kept = { headers: request.headers as Record<string, string>, body: '' }
  sample = kept
  request.setEncoding('utf8').on('data', (text: string) => {
    kept.body += text
  })
}

function note(inbox: Inbox, id: string): void {
  const known = inbox.get(id)
  if (known) known.times += 1
  else {
    lastAt = sharedMs()
    inbox.set(id, { at: lastAt, times: 1 })
    messages += 1
    onMessage()
  }
}

function wait(wanted: number, patienceMs: number): Promise<Answers['wait']> {
  const askedAt = sharedMs()
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(impatience)
      onMessage = () => undefined
      resolve({ messages, lastAt })
    }
    const impatience = setInterval(() => {
      if (sharedMs() - Math.max(askedAt, lastAt) > patienceMs) end()
    }, 100)
    onMessage = () => {
      if (messages >= wanted) end()
    }
    onMessage()
  })
}

function find(server: number, ids: string[]): Answers['find'] {
  const found = ids.map((id) => inboxes[server]?.get(id))
  return {
    arrivedAt: found.map((message) => message?.at ?? null),
    repeated: found.reduce((sum, message) => sum + (message ? message.times - 1 : 0), 0),
  }
}

answer(async (question: Question) => {
  switch (question.what) {
    case 'open':
      return Promise.all(Array.from({ length: question.servers }, open))
    case 'wait':
      return wait(question.messages, question.patienceMs)
    case 'sample':
      return sample
    case 'find':
      return find(question.server, question.ids)
  }
})
