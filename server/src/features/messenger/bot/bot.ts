/** The bot while this process has its lease: identifies the bot, receives its updates, and tracks its state. */
import { MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { type Changes, logFailures, type Scopes } from '../../../platform/db/index.ts'
import type { Tenure } from '../../../platform/lease/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import { type BotState, TOPIC_BOT } from '../messenger.table.ts'
import { type BotApi, BotFault } from './api.ts'
import * as store from './bot.store.ts'
import { watchBotSilence } from './silence.ts'
import type { Take } from './take-updates.ts'
import type { Update } from './updates.ts'

/** The waits while another program receives the bot's updates. `REFUSED_WAIT` follows a rejected token. */
const CONFLICT_WAITS = [1, 2, 5, 10, 20].map((seconds) => seconds * SECOND)
const REFUSED_WAIT = 10 * SECOND
const FAILED_WAIT = 2 * SECOND
/** The wait after an empty response. Not every provider keeps the request open until there are updates. */
const EMPTY_WAIT = 200

export interface BotDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  api: BotApi
  tenure: Tenure
  take: Take
  /** The webhook to which the provider sends updates, or null to poll for updates. */
  webhook: { url: string; secret: string } | null
  /** Milliseconds between checks of the webhook that is set at the provider. The default is a minute. */
  checkMs?: number
}

export interface Bot {
  /** Returns whether the token is valid, so that messages can be sent. Receiving updates may still fail. */
  isGood(): boolean
  /** Records that the provider rejected the token. The bot then checks the token again. */
  refused(): void
  stop(): Promise<void>
}

export function startBot(deps: BotDeps): Bot {
  const { db, changes, clock, log, api, tenure, take, webhook, checkMs = MINUTE } = deps
  let me: number | undefined
  /** True if this process has set up the delivery of updates, and nothing has indicated a change since then. */
  let isSetUp = false
  /** The URL to which updates are sent, in the provider's spelling. */
  let sentTo: string | undefined
  /** Aborts a poll for updates so that the token is checked before the next poll. */
  let recheck = new AbortController()
  let state: BotState = 'new'
  let conflicts = 0
  const silence = watchBotSilence(clock)

  async function note(next: BotState): Promise<void> {
    const isNew = await db.acrossTenants((tx) => store.saveState(tx, tenure.epoch, next))
    // Set after the write, so that a failed write is tried again.
    state = next
    if (!isNew) return
    changes.notify(TOPIC_BOT)
    if (next === 'ok') log.info({}, 'messenger bot connected')
    else log.error({ state: next }, WRONG[next])
  }

  /** Identifies the bot and sets up the delivery of updates. Returns undefined if the token was rejected. */
  async function introduce(): Promise<number | undefined> {
    if (me === undefined) {
      const bot = await api.getMe(tenure.over)
      await db.acrossTenants((tx) => store.saveBot(tx, tenure.epoch, bot))
      me = bot.id
      isSetUp = false
      changes.notify(TOPIC_BOT)
    }
    if (!isSetUp) await setUp()
    if (me === undefined) return undefined
    if (state === 'new' || state === 'refused' || state === 'deaf') await note('ok')
    return me
  }

  async function setUp(): Promise<void> {
    try {
      await api.setWebhook(webhook, tenure.over)
      if (webhook) sentTo = await api.getWebhook(tenure.over)
      isSetUp = true
    } catch (error) {
      // Keeps a state that also prevents sending: a rejected token or an unavailable provider.
      const isWorse =
        error instanceof BotFault && (isOfToken(error) || (state === 'away' && isUnanswered(error)))
      if (!isWorse && !tenure.over.aborted) await note('deaf')
      throw error
    }
  }

  async function takeAll(bot_id: number, updates: readonly unknown[]): Promise<void> {
    for (const update of updates.filter(isUpdate))
      await db.acrossTenants(async (tx) => {
        await tenure.fence(tx)
        await take(tx, bot_id, update)
        await store.saveOffset(tx, tenure.epoch, update.update_id + 1)
      })
  }

  /** Records that updates arrive in the configured way. */
  async function works(): Promise<void> {
    conflicts = 0
    if (state !== 'ok') await note('ok')
  }

  /** Records that another program receives the bot's updates. Returns how long to wait before the next attempt. */
  async function conflict(): Promise<number> {
    // Sets up the way to receive updates again, because another program may have set or deleted the webhook.
    isSetUp = false
    await note('conflict')
    conflicts += 1
    return CONFLICT_WAITS[conflicts - 1] ?? (CONFLICT_WAITS.at(-1) as number)
  }

  /** Polls for updates once, or checks the webhook. Returns how long to wait before the next step. */
  async function step(): Promise<number> {
    const id = await introduce()
    if (id === undefined) return 0
    if (webhook) {
      if ((await api.getWebhook(tenure.over)) !== sentTo) return conflict()
      await works()
      return checkMs
    }
    const offset = await db.acrossTenants(store.findOffset, 'read')
    const signal = AbortSignal.any([tenure.over, recheck.signal])
    // After an outage, does not wait for new updates, to notice at once that the provider is available again.
    const updates = await api.getUpdates(offset, signal, state === 'away')
    await works()
    await takeAll(id, updates)
    return updates.length > 0 ? 0 : EMPTY_WAIT
  }

  /** Updates the state after a failed request. Returns how long to wait before the next request. */
  async function bear(fault: BotFault): Promise<number> {
    if (!isUnanswered(fault)) silence.responded()
    else if (silence.missed()) await note('away')
    const { code, retryAfter } = fault.refusal ?? {}
    if (isOfToken(fault)) {
      me = undefined
      await note('refused')
      return REFUSED_WAIT
    }
    if (code === 409) return conflict()
    return retryAfter ? retryAfter * SECOND : FAILED_WAIT
  }

  async function poll(): Promise<boolean | number> {
    try {
      const wait = await step()
      silence.responded()
      return wait === 0 ? !tenure.over.aborted : wait
    } catch (error) {
      if (!(error instanceof BotFault) || tenure.over.aborted) throw error
      const wait = await bear(error)
      log.warn({ err: error, wait }, 'messenger request failed')
      return wait
    }
  }

  const logFailure = logFailures('messenger polling', log)
  const polling = poller(poll, {
    clock,
    pollMs: FAILED_WAIT,
    // A request that was aborted because the lease has ended does not count as a failure.
    onError: (error, previous) => tenure.over.aborted || logFailure(error, previous),
  })
  return {
    isGood: () => me !== undefined,
    refused() {
      me = undefined
      state = 'refused'
      recheck.abort()
      recheck = new AbortController()
      polling.wake()
    },
    stop: polling.stop,
  }
}

const WRONG: Record<Exclude<BotState, 'ok'>, string> = {
  new: 'messenger bot not identified yet',
  deaf: 'messenger bot can send, but the configured delivery of its updates could not be set up',
  conflict:
    'another program receives the updates of the messenger bot; stop that program, or use a separate bot for it',
  refused: 'messenger bot token rejected; set MESSENGER_BOT_TOKEN to a valid token',
  away: 'messenger provider has not responded for a minute; messages wait until it responds',
}

/** Returns whether the response was missing or unreadable, or reported an error of the provider itself. */
const isUnanswered = ({ refusal }: BotFault): boolean => refusal === null || refusal.code >= 500

const isOfToken = ({ refusal }: BotFault): boolean => refusal?.code === 401 || refusal?.code === 404

const isUpdate = (update: unknown): update is Update =>
  Number.isSafeInteger((update as Update | null)?.update_id)
