/**
 * A fake Bot API that enforces the provider's limits: 30 messages a second in total, one a second per chat, and one
 * program that polls for updates. Its chats can block, stall or be deleted.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemTime, type Time } from '../../src/lib/time.ts'
import { atTheEnd } from './cleanup.ts'

export const BOT_TOKEN = '4711:bot-token_that-is-Secret'
export const BOT = { id: 4711, is_bot: true, first_name: 'Wardkeep', username: 'wardkeep_bot' }

/** The response to a message for a chat: a refusal, or a failure of the connection or the server. */
export type ChatAnswer =
  | { code: number; description: string; retry_after?: number; after?: () => Promise<void> }
  | 'stall'
  | 'reset'
  | 'html'
  /** Accepts the message and resets the connection before the response. */
  | 'taken, then reset'
  /** Accepts the message and never responds. */
  | 'taken, then stall'

export interface SentMessage {
  chat: number
  text: string
  /** When the message arrived, in milliseconds of the monotonic clock that measures the limits. */
  at: number
  payload: Record<string, unknown>
}

export interface BotServer {
  /** The URL without a slash at its end. */
  url: string
  /** Every accepted message, in order. */
  sent: SentMessage[]
  /** The chats whose messages got no response. */
  stalled: number[]
  /** How many messages exceeded the limits, and how many polls were refused with 409. */
  readonly broken: { rate: number; chat: number; conflicts: number }
  /** Returns the last webhook that was set, or null. */
  webhook(): { url: string; secret_token: string; allowed_updates: string[] } | null
  /** Every poll for updates, with its offset. */
  polls: { offset: number | undefined; allowed_updates: unknown }[]
  textsTo(chat: number): string[]
  /** Simulates a private message from a person to the bot. Returns the number of the update. */
  says(chat: number, text: string, from?: Record<string, unknown>): number
  /** Queues any update for the bot. Returns the number of the update. */
  update(update: Record<string, unknown>): number
  /** Sets the response for the chat from now on, or restores the usual response if `answer` is omitted. */
  chatAnswers(chat: number, answer?: ChatAnswer): void
  /**
   * Makes the given methods, or all methods, fail with this code from now on. Without a code, all methods succeed
   * again.
   */
  refuse(code?: number, methods?: readonly string[]): void
  /** Sets whether confirmed updates are delivered again. */
  repeat(isRepeating: boolean): void
  /** Sets whether the server enforces the limits. It does by default. */
  limit(isLimited: boolean): void
  /**
   * Measures limits and long polls with this clock from now on. Tests pass the clock of a service whose time they move.
   */
  measureBy(clock: Pick<Time, 'monotonic' | 'after'>): void
  close(): Promise<void>
}

type Body = Record<string, any>

const SECOND = 1000
const MOST_A_SECOND = 30

export async function openBotServer(options: { port?: number } = {}): Promise<BotServer> {
  let clock: Pick<Time, 'monotonic' | 'after'> = systemTime
  const sent: SentMessage[] = []
  const stalled: number[] = []
  const polls: BotServer['polls'] = []
  const broken = { rate: 0, chat: 0, conflicts: 0 }
  const updates: Body[] = []
  const answers = new Map<number, ChatAnswer>()
  const lastOf = new Map<number, number>()
  const recent: number[] = []
  let refused: { code: number; methods: readonly string[] | undefined } | undefined
  let webhook: Body | null = null
  let isRepeating = false
  let isLimited = true
  let numbers = 1000
  let poll: { end(code?: number): void } | undefined

  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy())
  })

  const ok = (response: ServerResponse, result: unknown) =>
    reply(response, 200, { ok: true, result })
  const refuse = (response: ServerResponse, code: number, description: string, seconds?: number) =>
    reply(response, code, {
      ok: false,
      error_code: code,
      description,
      ...(seconds === undefined ? {} : { parameters: { retry_after: seconds } }),
    })

  async function take(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Body
    const [, token, method = ''] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? '') ?? []
    if (token !== BOT_TOKEN) return refuse(response, 401, 'Unauthorized')
    if (refused && (!refused.methods || refused.methods.includes(method)))
      return refuse(response, refused.code, `refused with ${refused.code}`)
    if (method === 'getMe') return ok(response, BOT)
    if (method === 'setWebhook' || method === 'deleteWebhook') {
      webhook = method === 'setWebhook' ? body : null
      return ok(response, true)
    }
    if (method === 'getWebhookInfo') return ok(response, { url: webhook?.url ?? '' })
    if (method === 'getUpdates') return giveUpdates(body, response)
    if (method === 'sendMessage') return takeMessage(body, request, response)
    return refuse(response, 404, 'Not Found: method not found')
  }

  function giveUpdates(body: Body, response: ServerResponse): unknown {
    polls.push({ offset: body.offset, allowed_updates: body.allowed_updates })
    if (webhook) {
      broken.conflicts += 1
      return refuse(response, 409, 'Conflict: can’t use getUpdates while webhook is active')
    }
    // A second poll ends the first poll.
    if (poll) broken.conflicts += 1
    poll?.end(409)
    const waiting = () =>
      updates.filter(({ update_id }) => isRepeating || update_id >= (body.offset ?? 0))
    const own = {
      end(code?: number) {
        cancel()
        if (poll === own) poll = undefined
        if (code) refuse(response, code, 'Conflict: terminated by other getUpdates request')
        else ok(response, pageOf(waiting(), Math.min(body.limit ?? 100, 100)))
      },
    }
    const cancel = clock.after((body.timeout ?? 0) * SECOND, () => own.end())
    response.on('close', () => {
      cancel()
      if (poll === own) poll = undefined
    })
    if (isRepeating) body.offset = 0
    poll = own
    if (waiting().length > 0) own.end()
    return undefined
  }

  const pageOf = (all: Body[], limit: number) =>
    isRepeating ? all.slice(-limit) : all.slice(0, limit)

  function limitOf(chat: number, now: number): 'rate' | 'chat' | undefined {
    while (recent.length > 0 && (recent[0] as number) <= now - SECOND) recent.shift()
    if (recent.length >= MOST_A_SECOND) return 'rate'
    return now - (lastOf.get(chat) ?? Number.NEGATIVE_INFINITY) < SECOND ? 'chat' : undefined
  }

  async function takeMessage(
    body: Body,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<unknown> {
    const chat = Number(body.chat_id)
    const answer = answers.get(chat)
    if (answer === 'stall') return void stalled.push(chat)
    if (answer === 'reset') return request.socket.resetAndDestroy()
    if (answer === 'html')
      return response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad</h1>')
    const now = clock.monotonic()
    const limit = isLimited ? limitOf(chat, now) : undefined
    if (limit) {
      broken[limit] += 1
      return refuse(response, 429, 'Too Many Requests: retry after 1', 1)
    }
    if (typeof answer === 'object') {
      await answer.after?.()
      return refuse(response, answer.code, answer.description, answer.retry_after)
    }
    recent.push(now)
    lastOf.set(chat, now)
    sent.push({ chat, text: String(body.text), at: now, payload: body })
    if (answer === 'taken, then stall') return undefined
    if (answer === 'taken, then reset') return request.socket.resetAndDestroy()
    return ok(response, { message_id: sent.length, date: 0, chat: { id: chat, type: 'private' } })
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const close = async () => {
    if (!server.listening) return
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  atTheEnd(close)

  function update(fields: Body): number {
    numbers += 1
    updates.push({ update_id: numbers, ...fields })
    poll?.end()
    return numbers
  }

  return {
    url: `http://127.0.0.1:${port}`,
    sent,
    stalled,
    broken,
    polls,
    webhook: () => webhook as ReturnType<BotServer['webhook']>,
    textsTo: (chat) => sent.filter((one) => one.chat === chat).map(({ text }) => text),
    update,
    says: (chat, text, from = {}) =>
      update({
        message: {
          message_id: numbers,
          date: 0,
          text,
          chat: { id: chat, type: 'private' },
          from: { id: chat, is_bot: false, first_name: 'Nora', username: 'nora_n', ...from },
        },
      }),
    chatAnswers(chat, answer) {
      if (answer) answers.set(chat, answer)
      else answers.delete(chat)
    },
    refuse(code, methods) {
      refused = code === undefined ? undefined : { code, methods }
      if (refused && (!methods || methods.includes('getUpdates'))) poll?.end(code)
    },
    measureBy(next) {
      clock = next
    },
    repeat(repeating) {
      isRepeating = repeating
      if (repeating) poll?.end()
    },
    limit(limited) {
      isLimited = limited
    },
    close,
  }
}

function reply(response: ServerResponse, code: number, body: object): void {
  // Like the provider, this escapes each character beyond ASCII, which takes six bytes.
  const json = JSON.stringify(body).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  response.writeHead(code, { 'content-type': 'application/json' }).end(json)
}
