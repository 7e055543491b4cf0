/**
 * The provider's API, as far as the bot uses it. The token is in every URL, and what the library throws
 * holds the URL, the chat or the text: nothing of it gets past this file but a `BotFault`.
 */
import type { Api, GrammyError } from 'grammy'
import { DAY, MINUTE, SECOND } from '../../../lib/clock.ts'
import { type Upstream, upstreamFetch } from '../../../platform/net/index.ts'
import type { Refusal } from '../sending/outcome.ts'

/** What the bot is to be told of; anything else is not even asked for. */
const UPDATES = ['message', 'my_chat_member'] as const
/** How long the provider holds a question for updates that has no answer yet. */
const POLL_SECONDS = 25
/** For a question for updates, and for anything else. */
const POLL_DEADLINE = POLL_SECONDS * SECOND + 10 * SECOND
const DEADLINE = 10 * SECOND
/**
 * Updates of an answer: a long message with a long one that it replies to takes some 100 KiB, and an answer
 * that does not fit the 1 MiB of an upstream's would never be read, nor any update behind it.
 */
const MAX_UPDATES = 8

export interface BotApi {
  getMe(signal?: AbortSignal): Promise<{ id: number; username: string | null }>
  /**
   * Waits until there is an update of `offset` or later, or for half a minute; with `now` it does not
   * wait.
   */
  getUpdates(offset: number | null, signal: AbortSignal, now?: boolean): Promise<unknown[]>
  /** Has updates sent to the URL, with the secret; without one, has them asked for. */
  setWebhook(to: { url: string; secret: string } | null, signal?: AbortSignal): Promise<void>
  /** Where updates are sent to; empty where they are asked for. */
  getWebhook(signal?: AbortSignal): Promise<string>
  /** Sends plain text, without previews of links. */
  sendMessage(chatId: number, text: string, signal?: AbortSignal): Promise<void>
}

/** That the provider refused, or could not be asked. Says neither whom nor what it was about. */
export class BotFault extends Error {
  /** Null where there was no answer that could be read. */
  readonly refusal: Refusal | null

  constructor(method: string, refusal: Refusal | null) {
    super(refusal ? `${method} was answered ${refusal.code}` : `${method} was not answered`)
    this.name = 'BotFault'
    this.refusal = refusal
  }
}

export interface BotApiOptions {
  token: string
  /** Without a slash at its end. */
  root: string
  /** Requests below the root. */
  upstream: Upstream
}

/** Opens the API. The library is loaded here: a service without a bot does not need it. */
export async function openBotApi({ token, root, upstream }: BotApiOptions): Promise<BotApi> {
  const grammy = await import('grammy')
  type Options = NonNullable<ConstructorParameters<typeof Api>[1]>
  const within = (deadlineMs: number) =>
    new grammy.Api(token, {
      apiRoot: root,
      // Behind the deadline of the exchange, which ends it.
      timeoutSeconds: (deadlineMs + MINUTE) / SECOND,
      fetch: upstreamFetch(upstream, deadlineMs) as unknown as NonNullable<Options['fetch']>,
    })
  const [api, polling] = [within(DEADLINE), within(POLL_DEADLINE)]
  // The library names the signals of another package, which these are in all that matters.
  type Signal = Parameters<Api['getMe']>[0]
  const signalOf = (signal?: AbortSignal) => signal as unknown as Signal

  async function call<T>(method: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw new BotFault(method, error instanceof grammy.GrammyError ? refusalOf(error) : null)
    }
  }

  return {
    getMe: (signal) =>
      call('getMe', async () => {
        const { id, username } = await api.getMe(signalOf(signal))
        return { id, username: username ?? null }
      }),
    getUpdates: (offset, signal, now = false) =>
      call('getUpdates', () =>
        polling.getUpdates(
          {
            ...(offset === null ? {} : { offset }),
            limit: MAX_UPDATES,
            timeout: now ? 0 : POLL_SECONDS,
            allowed_updates: UPDATES,
          },
          signalOf(signal),
        ),
      ),
    setWebhook: (to, signal) =>
      call('setWebhook', async () => {
        if (!to) return void (await api.deleteWebhook({}, signalOf(signal)))
        const { url, secret } = to
        const options = { secret_token: secret, allowed_updates: UPDATES }
        await api.setWebhook(url, options, signalOf(signal))
      }),
    getWebhook: (signal) =>
      call('getWebhookInfo', async () => (await api.getWebhookInfo(signalOf(signal))).url ?? ''),
    sendMessage: (chatId, text, signal) =>
      call('sendMessage', async () => {
        const options = { link_preview_options: { is_disabled: true } }
        await api.sendMessage(chatId, text, options, signalOf(signal))
      }),
  }
}

function refusalOf({ error_code, description, parameters }: GrammyError): Refusal {
  return { code: error_code, description, retryAfter: secondsOf(parameters.retry_after) }
}

/** A wait that can be kept: a second at the least, a day at the most, whatever was written. */
function secondsOf(retryAfter: unknown): number | undefined {
  if (typeof retryAfter !== 'number') return undefined
  return Math.min(Math.max(Math.ceil(retryAfter), 1), DAY / SECOND)
}
