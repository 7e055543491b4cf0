/**
 * A fake Bot API that enforces the provider's limits: 30 messages a second in total, one a second per chat. It records
 * each message with its time, and can stall or throttle chats.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sharedMs } from '../measure/clock.ts'
import { answer } from './answer.ts'

/** The questions to the fake API. */
export type Question =
  | { what: 'open' }
  /** A person writes `/start` in each of these chats. */
  | { what: 'start'; chats: number[] }
  /** From now on requests for these chats fail. */
  | { what: 'fail'; chats: number[]; as: Failure }
  /** Returns the messages accepted since the last call, and the total number of messages refused by the limits. */
  | { what: 'taken' }

/** How requests fail: they get no response, or always a 429. */
export type Failure = 'stall' | 'limit'

/** The answers to the questions. Times are measured with `sharedMs`. */
export interface Answers {
  /** The API's address. */
  open: string
  start: null
  fail: null
  taken: { messages: Message[]; refused: number }
}

export interface Message {
  chat: number
  text: string
  at: number
}

type Body = Record<string, unknown>

const SECOND = 1000
const MOST_A_SECOND = 30
const RETRY_AFTER = 30
const BOT = { id: 4711, is_bot: true, first_name: 'Bench', username: 'bench_bot' }

const updates: Body[] = []
const failures = new Map<number, Failure>()
const lastOf = new Map<number, number>()
let recent: number[] = []
let messages: Message[] = []
let refused = 0
/** Ends the pending poll for updates. */
let endPoll = (): void => undefined

const reply = (response: ServerResponse, code: number, body: object) =>
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const ok = (response: ServerResponse, result: unknown) => reply(response, 200, { ok: true, result })
const tooMany = (response: ServerResponse, seconds: number) =>
  reply(response, 429, {
    ok: false,
    error_code: 429,
    description: `Too Many Requests: retry after ${seconds}`,
    parameters: { retry_after: seconds },
  })

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Body
  const method = request.url?.split('/').at(-1)
  if (method === 'sendMessage') takeMessage(body, response)
  else if (method === 'getUpdates') giveUpdates(body, response)
  else ok(response, method === 'getMe' ? BOT : true)
}

function takeMessage(body: Body, response: ServerResponse): void {
  const chat = Number(body.chat_id)
  const failure = failures.get(chat)
  if (failure === 'stall') return
  if (failure === 'limit') return void tooMany(response, RETRY_AFTER)
  const at = sharedMs()
  recent = recent.filter((time) => time > at - SECOND)
  if (recent.length >= MOST_A_SECOND || at - (lastOf.get(chat) ?? -SECOND) < SECOND) {
    refused += 1
    return void tooMany(response, 1)
  }
  recent.push(at)
  lastOf.set(chat, at)
  messages.push({ chat, text: String(body.text), at })
  ok(response, { message_id: messages.length, date: 0, chat: { id: chat, type: 'private' } })
}

function giveUpdates({ offset, limit, timeout }: Body, response: ServerResponse): void {
  const from = Number(offset ?? 0)
  const waiting = () => updates.filter((update) => Number(update.update_id) >= from)
  const end = () => {
    clearTimeout(timer)
    endPoll = () => undefined
    ok(response, waiting().slice(0, Number(limit)))
  }
  const timer = setTimeout(end, Number(timeout) * SECOND)
  response.once('close', () => clearTimeout(timer))
  endPoll = end
  if (waiting().length > 0) end()
}

function start(chats: readonly number[]): null {
  for (const id of chats)
    updates.push({
      update_id: updates.length + 1,
      message: {
        message_id: updates.length,
        date: 0,
        text: '/start',
        chat: { id, type: 'private' },
        from: { id, is_bot: false, first_name: 'Nora' },
      },
    })
  endPoll()
  return null
}

async function open(): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    take(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function taken(): Answers['taken'] {
  const all = messages
  messages = []
  return { messages: all, refused }
}

answer(async (question: Question) => {
  switch (question.what) {
    case 'open':
      return open()
    case 'start':
      return start(question.chats)
    case 'fail':
      for (const chat of question.chats) failures.set(chat, question.as)
      return null
    case 'taken':
      return taken()
  }
})
