/** Assembles the messenger feature: linking of chats, updates from chats, and the bot, which runs in one process. */

import { randomUUID } from 'node:crypto'
import { Counter, type Registry } from 'prom-client'
import type { Needs } from '../../core.ts'
import type { Caller, RequireSignedIn } from '../../platform/access/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import type { Background, ComponentHealth, Feature } from '../../platform/feature/feature.ts'
import { type Actor, actorOf } from '../../platform/journal/index.ts'
import type { Tenure } from '../../platform/lease/index.ts'
import { openUpstream } from '../../platform/net/index.ts'
import { type BotApi, openBotApi } from './bot/api.ts'
import { startBot } from './bot/bot.ts'
import { HOOK_PATH, hookSecret, openHook } from './bot/hook.ts'
import { keepBotLease } from './bot/lease.ts'
import { updateTaker } from './bot/take-updates.ts'
import { updateHandler } from './bot/updates.ts'
import { watchBotHealth } from './health.ts'
import { openChats } from './linking/chats.ts'
import { linkingService } from './linking/linking.service.ts'
import { replier } from './linking/replies.ts'
import { endLinks } from './linking/restored.store.ts'
import { unlinker } from './linking/unlink.ts'
import { keepMessengerTidy } from './messenger.jobs.ts'
import { messengerOperations } from './messenger.routes.ts'
import { MESSENGER_TABLES } from './messenger.table.ts'
import { followNoticeEvents, NOTICE_CONSUMER } from './notices/queue.ts'
import { composer } from './sending/compose.ts'
import type { SendOutcome } from './sending/outcome.ts'
import { startSender } from './sending/sender.ts'
import { turnTaker } from './sending/turn.ts'
import { CHAT_UNLINKED, UNLINKED } from './text/bot-replies.ts'
import type { ShowAmount } from './text/lines.ts'
import { purgeRows } from './upkeep/upkeep.store.ts'

/** The bot's own database connections, so that requests and messages do not wait for each other. */
const POOL_SIZE = 4

type Core = Needs<
  | 'db'
  | 'clock'
  | 'jobs'
  | 'deriveKey'
  | 'sealer'
  | 'keyRing'
  | 'log'
  | 'changes'
  | 'readers'
  | 'mailer'
  | 'throttle'
  | 'metrics'
  | 'publicUrl'
  | 'hold'
  | 'openPool',
  'MESSENGER_BOT_TOKEN' | 'MESSENGER_API_URL' | 'MESSENGER_MODE'
>

/** Functions of other features, passed in because features do not import each other. */
export interface MessengerDeps {
  showAmount: ShowAmount
  requireSignedIn: RequireSignedIn
}

/** Unlinks the chat of a user who is about to be deleted, and notifies the chat. */
export type UnlinkUser = (
  tx: TenantTx,
  by: Caller,
  user: { id: number; tenant_id: number },
) => Promise<void>

/** Unlinks the chat of an account if someone other than the owner has linked it, and notifies the chat. */
export type DisownChat = (
  tx: TenantTx,
  by: Actor,
  user: { id: number; tenant_id: number },
) => Promise<void>

/** Opens the feature and registers its jobs. Call this before the jobs start. */
export async function openMessenger(
  core: Core,
  handed: MessengerDeps,
): Promise<Feature & { userLeaves: UnlinkUser; disownChat: DisownChat }> {
  const { db, deriveKey, config } = core
  const { MESSENGER_BOT_TOKEN: token, MESSENGER_API_URL: root } = config
  const chats = openChats(core)
  const reply = replier({ ...core, chats })
  const unlink = unlinker({ ...core, chats, reply })
  const deps = { ...core, ...handed, chats, reply, unlink }
  const take = updateTaker({ ...core, handle: updateHandler(deps) })
  const isHooked = token !== undefined && config.MESSENGER_MODE === 'webhook'
  const secret = isHooked ? hookSecret(deriveKey, token) : null
  const health = token === undefined ? undefined : watchBotHealth(core)
  const upstream = token === undefined ? undefined : openUpstream({ url: root })
  const api = upstream && token ? await openBotApi({ token, root, upstream }) : undefined
  const webhook = secret === null ? null : { url: core.publicUrl + HOOK_PATH, secret }
  const onSent = messageMetrics(core.metrics.registry)
  keepMessengerTidy(core)
  if (api) core.readers.add(NOTICE_CONSUMER)

  /** Starts competing for the bot's lease. The process that has the lease runs the bot. */
  function background(known: BotApi): Background {
    const own = core.openPool(POOL_SIZE)
    const begin = (tenure: Tenure) => {
      const bot = startBot({ ...core, db: own, api: known, tenure, take, webhook })
      const compose = composer(deps)
      const turn = turnTaker({ ...deps, db: own, api: known, tenure, compose })
      const sender = startSender({ ...core, db: own, bot, tenure, turn, onSent })
      return {
        idle: sender.idle,
        stop: async () => void (await Promise.all([sender.stop(), bot.stop()])),
      }
    }
    const follower = followNoticeEvents({ ...core, db: own })
    const lease = keepBotLease({ ...core, db: own, worker: randomUUID(), begin })
    return {
      idle: () => follower.idle().then(lease.idle),
      stop: () => Promise.all([lease.stop(), follower.stop()]).finally(own.close),
    }
  }

  return {
    name: 'messenger',
    tables: MESSENGER_TABLES,
    restoring: { after: endLinks },
    operations: messengerOperations(
      linkingService({ ...deps, health }),
      openHook({ db, take, secret }),
    ),
    async userLeaves(tx, by, { id, tenant_id }) {
      await unlink(tx, { tenant_id, user_id: id }, actorOf(by), 'deleted', CHAT_UNLINKED)
    },
    async disownChat(tx, by, { id, tenant_id }) {
      await unlink(tx, { tenant_id, user_id: id }, by, 'disowned', UNLINKED)
    },
    goesOut: true,
    ...(api ? { background: () => background(api) } : {}),
    capabilities: { messenger_bot_enabled: () => health?.works() ?? false },
    checks: health ? { messenger: () => botHealth(health) } : {},
    conflicts: { messenger_links__chat: 'chat_linked' },
    purgeRows,
    async close() {
      await health?.stop()
      await upstream?.close()
    },
  }
}

const botHealth = (health: { isWell(): boolean }): ComponentHealth =>
  health.isWell()
    ? { state: 'ok' }
    : { state: 'degraded', reason: 'The messenger bot is not working. See the log for the cause.' }

/** Registers the metric of messages. Returns a function that counts a message by its outcome. */
function messageMetrics(registry: Registry): (outcome: SendOutcome['kind']) => void {
  const messages = new Counter({
    name: 'wardkeep_messenger_messages_total',
    help: 'Messages to chats, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  return (outcome) => messages.inc({ outcome })
}
