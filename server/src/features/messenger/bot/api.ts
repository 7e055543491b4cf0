/** The bot's part of the provider's API. Throws only `BotFault`: other errors may contain the token, chat or text. */
import type { Api, GrammyError } from 'grammy'
import { DAY, MINUTE, SECOND } from '../../../lib/clock.ts'
import { type Upstream, upstreamFetch } from '../../../platform/net/index.ts'
import type { ChatRefusal } from '../sending/outcome.ts'

/** The kinds of updates that the bot requests and handles. */
const UPDATES = ['message', 'my_chat_member'] as const
/** How long the provider keeps a request for updates open while there are none, in seconds. */
const POLL_SECONDS = 25
/** The deadline of requests for updates. `DEADLINE` applies to all other requests. */
const POLL_DEADLINE = POLL_SECONDS * SECOND + 10 * SECOND
const DEADLINE = 10 * SECOND
/**
 * The maximum number of updates in a response. A long message that replies to another long one takes about 100 KiB. A
 * response above the upstream limit of 1 MiB could never be read, and would block all later updates.
 */
const MAX_UPDATES = 8

export interface BotApi {
  getMe(signal?: AbortSignal): Promise<{ id: number; username: string | null }>
  /** Returns updates from `offset` on. If there are none, waits for them up to 25 s, or not at all if `now` is true. */
  getUpdates(offset: number | null, signal: AbortSignal, now?: boolean): Promise<unknown[]>
  /** Makes the provider send updates to the URL with the secret. Null deletes the webhook; updates must be polled. */
  setWebhook(to: { url: string; secret: string } | null, signal?: AbortSignal): Promise<void>
  /** Returns the URL to which the provider sends updates, or an empty string if updates must be polled. */
  getWebhook(signal?: AbortSignal): Promise<string>
  sendMessage(chatId: number, text: string, signal?: AbortSignal): Promise<void>
}

/** A request that the provider rejected or did not answer. Contains neither the chat nor the text of the message. */
export class BotFault extends Error {
  /** The provider's error response. Null if there was no readable response. */
  readonly refusal: ChatRefusal | null

  constructor(method: string, refusal: ChatRefusal | null) {
    super(refusal ? `${method} was answered ${refusal.code}` : `${method} was not answered`)
    this.name = 'BotFault'
    this.refusal = refusal
  }
}

export interface BotApiOptions {
  token: string
  /** The base URL of the provider's API, without a trailing slash. */
  root: string
  /** Sends requests to URLs below `root`. */
  upstream: Upstream
}

/** Opens the API. Loads the library only when called, because a service without a bot does not need it. */
export async function openBotApi({ token, root, upstream }: BotApiOptions): Promise<BotApi> {
  const grammy = await import('grammy')
  type Options = NonNullable<ConstructorParameters<typeof Api>[1]>
  const within = (deadlineMs: number) =>
    new grammy.Api(token, {
      apiRoot: root,
      // The timeout of the library is longer than the deadline, so that the deadline always ends the request first.
      timeoutSeconds: (deadlineMs + MINUTE) / SECOND,
      fetch: upstreamFetch(upstream, deadlineMs) as unknown as NonNullable<Options['fetch']>,
    })
  const [api, polling] = [within(DEADLINE), within(POLL_DEADLINE)]
  // The library's types use the `AbortSignal` of another package. The global `AbortSignal` is compatible with it.
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

function refusalOf({ error_code, description, parameters }: GrammyError): ChatRefusal {
  return { code: error_code, description, retryAfter: secondsOf(parameters.retry_after) }
}

/** Returns the requested wait in seconds, limited to between one second and one day. */
function secondsOf(retryAfter: unknown): number | undefined {
  if (typeof retryAfter !== 'number') return undefined
  return Math.min(Math.max(Math.ceil(retryAfter), 1), DAY / SECOND)
}
