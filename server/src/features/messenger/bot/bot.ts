/** The bot's side of its tenure: who it is, what it is told, and how it does. */
import { MINUTE, SECOND } from '../../../lib/clock.ts'
import { poller } from '../../../lib/poller.ts'
import type { Time } from '../../../lib/time.ts'
import { type Changes, logFailures, type Scopes } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/observe/log.ts'
import type { BotState } from '../messenger.table.ts'
import { TOPIC_BOT } from '../topics.ts'
import { type BotApi, BotFault } from './api.ts'
import * as store from './bot.store.ts'
import type { Tenure } from './lease.ts'
import { watchSilence } from './silence.ts'
import type { Take } from './taking.ts'
import type { Update } from './updates.ts'

/** Another program that asks for updates is waited for, ever longer; a token that is refused always so. */
const CONFLICT_WAITS = [1, 2, 5, 10, 20].map((seconds) => seconds * SECOND)
const REFUSED_WAIT = 10 * SECOND
const FAILED_WAIT = 2 * SECOND
/** After no updates: the provider has waited for some before it said so, and others may not. */
const EMPTY_WAIT = 200

export interface BotDeps {
  db: Scopes
  changes: Changes
  clock: Time
  log: Logger
  api: BotApi
  tenure: Tenure
  take: Take
  /** Where the provider sends updates to; null to ask for them. */
  webhook: { url: string; secret: string } | null
  /** Milliseconds between looks where updates are sent to; a minute unless a test says otherwise. */
  checkMs?: number
}

export interface Bot {
  /** Whether messages can be sent: the token is good, whatever becomes of updates. */
  isGood(): boolean
  /** Notes that the token was refused; the bot then finds out for itself. */
  refused(): void
  stop(): Promise<void>
}

export function startBot(deps: BotDeps): Bot {
  const { db, changes, clock, log, api, tenure, take, webhook, checkMs = MINUTE } = deps
  let me: number | undefined
  /** Whether updates come the way that is configured, as far as known. */
  let isSetUp = false
  /** Where updates are sent to, as the provider writes it. */
  let sentTo: string | undefined
  /** Ends a question for updates, to see first whether the token is still good. */
  let recheck = new AbortController()
  let state: BotState = 'new'
  let conflicts = 0
  const silence = watchSilence(clock)

  async function note(next: BotState): Promise<void> {
    const isNew = await db.acrossTenants((tx) => store.saveState(tx, tenure.epoch, next))
    // Behind the write: one that fails is to be tried again.
    state = next
    if (!isNew) return
    changes.notify(TOPIC_BOT)
    if (next === 'ok') log.info({}, 'the messenger bot works')
    else log.error({ state: next }, WRONG[next])
  }

  /**
   * Finds out who the bot is, and has updates come the way that is configured. Returns its number, or
   * undefined where the token was refused meanwhile.
   */
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

  /** Has updates come the way that is configured. */
  async function setUp(): Promise<void> {
    try {
      await api.setWebhook(webhook, tenure.over)
      if (webhook) sentTo = await api.getWebhook(tenure.over)
      isSetUp = true
    } catch (error) {
      // With a token that is refused, or a provider that is still away, it does not send either.
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

  /** Updates come as configured. */
  async function works(): Promise<void> {
    conflicts = 0
    if (state !== 'ok') await note('ok')
  }

  /** Another program has the updates of the bot come to it. Returns how long to wait for it to end. */
  async function conflict(): Promise<number> {
    // It may also be a webhook that somebody has set or deleted.
    isSetUp = false
    await note('conflict')
    conflicts += 1
    return CONFLICT_WAITS[conflicts - 1] ?? (CONFLICT_WAITS.at(-1) as number)
  }

  /** Asks for updates once, or looks whether all is well. Returns how long to wait then. */
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
    // A provider that is back says so at once, and not half a minute later.
    const updates = await api.getUpdates(offset, signal, state === 'away')
    await works()
    await takeAll(id, updates)
    return updates.length > 0 ? 0 : EMPTY_WAIT
  }

  /** Returns how long to wait after a refusal of the provider. */
  async function bear(fault: BotFault): Promise<number> {
    if (!isUnanswered(fault)) silence.heard()
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

  async function look(): Promise<boolean | number> {
    try {
      const wait = await step()
      silence.heard()
      return wait === 0 ? !tenure.over.aborted : wait
    } catch (error) {
      if (!(error instanceof BotFault) || tenure.over.aborted) throw error
      const wait = await bear(error)
      log.warn({ err: error, wait }, 'the messenger was asked in vain')
      return wait
    }
  }

  const logFailure = logFailures('asking the messenger', log)
  const looker = poller(look, {
    clock,
    pollMs: FAILED_WAIT,
    // What the end of the tenure breaks off has not failed.
    onError: (error, previous) => tenure.over.aborted || logFailure(error, previous),
  })
  return {
    isGood: () => me !== undefined,
    refused() {
      me = undefined
      state = 'refused'
      recheck.abort()
      recheck = new AbortController()
      looker.wake()
    },
    stop: looker.stop,
  }
}

const WRONG: Record<Exclude<BotState, 'ok'>, string> = {
  new: 'the messenger bot is not known yet',
  deaf: 'the messenger bot sends, but could not have its updates come the way that is configured',
  conflict:
    'another program takes the updates of the messenger bot; stop it, or give it a bot of its own',
  refused: 'the token of the messenger bot is refused; give MESSENGER_BOT_TOKEN a good one',
  away: 'the provider of the messenger bot has not answered for a minute or more; what waits is sent once it does',
}

/** Whether nothing was said that could be read, or that the provider itself is at fault. */
const isUnanswered = ({ refusal }: BotFault): boolean => refusal === null || refusal.code >= 500

/** Whether it is the token that was refused. */
const isOfToken = ({ refusal }: BotFault): boolean => refusal?.code === 401 || refusal?.code === 404

const isUpdate = (update: unknown): update is Update =>
  Number.isSafeInteger((update as Update | null)?.update_id)
