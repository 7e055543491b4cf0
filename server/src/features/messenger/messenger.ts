/** The messenger, put together: linking, what chats say, and the one process of all that is the bot. */
import { randomUUID } from 'node:crypto'
import type { Needs } from '../../core.ts'
import type { Caller, RequireSignedIn } from '../../platform/access/index.ts'
import type { TenantTx } from '../../platform/db/index.ts'
import type { Background, Feature } from '../../platform/feature.ts'
import { type Actor, actorOf } from '../../platform/journal/index.ts'
import { openUpstream } from '../../platform/net/index.ts'
import { type BotApi, openBotApi } from './bot/api.ts'
import { startBot } from './bot/bot.ts'
import { HOOK_PATH, hookSecret, openHook } from './bot/hook.ts'
import { keepLease, type Tenure } from './bot/lease.ts'
import { watchStanding } from './bot/standing.ts'
import { updateTaker } from './bot/taking.ts'
import { updateHandler } from './bot/updates.ts'
import { messengerFixes } from './fixes/fixes.ts'
import { openChats } from './linking/chats.ts'
import { linkingService } from './linking/linking.service.ts'
import { replier } from './linking/replies.ts'
import { endLinks } from './linking/restored.store.ts'
import { unlinker } from './linking/unlink.ts'
import { expiredFix, keepMessengerTidy } from './messenger.jobs.ts'
import { messengerOperations } from './messenger.routes.ts'
import { MESSENGER_TABLES } from './messenger.table.ts'
import { messageMetrics } from './metrics.ts'
import { CONSUMER, followEvents } from './notices/queue.ts'
import { composer } from './sending/compose.ts'
import { startSender } from './sending/sender.ts'
import { turnTaker } from './sending/turn.ts'
import type { ShowAmount } from './text/lines.ts'
import { DELETED, UNLINKED } from './text/talk.ts'
import { purgeRows } from './upkeep/upkeep.store.ts'

/** Connections of the bot: requests do not wait for messages, nor these for requests. */
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

/** What other features know, handed in: they do not know each other. */
export interface Handed {
  showAmount: ShowAmount
  requireSignedIn: RequireSignedIn
}

/** Unlinks the chat of a user who is about to be deleted, and tells it. */
export type UserLeaves = (
  tx: TenantTx,
  by: Caller,
  user: { id: number; tenant_id: number },
) => Promise<void>

/** Unlinks the chat of an account whose owner has not linked it, and tells it. */
export type DisownChat = (
  tx: TenantTx,
  by: Actor,
  user: { id: number; tenant_id: number },
) => Promise<void>

/** Registers the jobs of the messenger, so it comes before these start. */
export async function openMessenger(
  core: Core,
  handed: Handed,
): Promise<Feature & { userLeaves: UserLeaves; disownChat: DisownChat }> {
  const { db, deriveKey, config } = core
  const { MESSENGER_BOT_TOKEN: token, MESSENGER_API_URL: root } = config
  const chats = openChats(core)
  const reply = replier({ ...core, chats })
  const unlink = unlinker({ ...core, chats, reply })
  const deps = { ...core, ...handed, chats, reply, unlink }
  const take = updateTaker({ ...core, handle: updateHandler(deps) })
  const isHooked = token !== undefined && config.MESSENGER_MODE === 'webhook'
  const secret = isHooked ? hookSecret(deriveKey, token) : null
  const standing = token === undefined ? undefined : watchStanding(core)
  const upstream = token === undefined ? undefined : openUpstream({ url: root })
  const api = upstream && token ? await openBotApi({ token, root, upstream }) : undefined
  const webhook = secret === null ? null : { url: core.publicUrl + HOOK_PATH, secret }
  const onSent = messageMetrics(core.metrics.registry)
  keepMessengerTidy(core)
  if (api) core.readers.add(CONSUMER)

  /** Has this process be the bot, or wait to be. */
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
    const follower = followEvents({ ...core, db: own })
    const lease = keepLease({ ...core, db: own, worker: randomUUID(), begin })
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
      linkingService({ ...deps, standing }),
      openHook({ db, take, secret }),
    ),
    async userLeaves(tx, by, { id, tenant_id }) {
      await unlink(tx, { tenant_id, user_id: id }, actorOf(by), 'deleted', DELETED)
    },
    async disownChat(tx, by, { id, tenant_id }) {
      await unlink(tx, { tenant_id, user_id: id }, by, 'disowned', UNLINKED)
    },
    goesOut: true,
    ...(api ? { background: () => background(api) } : {}),
    capabilities: { messenger_bot_enabled: () => standing?.works() ?? false },
    checks: standing ? { messenger: () => (standing.isWell() ? 'ok' : 'degraded') } : {},
    conflicts: { messenger_links__chat: 'chat_linked' },
    purgeRows,
    fixes: [expiredFix(core.db), ...messengerFixes({ ...core, hasBot: token !== undefined })],
    async close() {
      await standing?.stop()
      await upstream?.close()
    },
  }
}
