/** Links a user's account to the user's chat, with a code that the bot sent to the chat. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller, RequireSignedIn } from '../../../platform/access/index.ts'
import type { RootSealed } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { actorOf, append } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { BotHealth } from '../health.ts'
import type { MessengerStatus } from '../messenger.schema.ts'
import { availableTo, SECURITY_EVENTS } from '../subscriptions/events.ts'
import { linkedText, REPLACED, UNLINKED } from '../text/bot-replies.ts'
import type { Chat, Chats } from './chats.ts'
import * as store from './links.store.ts'
import { linkedLetter } from './mails.ts'
import type { Reply } from './replies.ts'
import type { Unlink } from './unlink.ts'

/** The database column with the encrypted chat that requested a code. */
export const SEALED_CODES: RootSealed = {
  table: 'messenger_codes',
  column: 'sealed_chat',
  id: { column: 'chat_hash', type: 'bytea' },
}
/**
 * Limits attempts per user: after five codes, the wait doubles with each attempt, up to 15 minutes. A correct code does
 * not reset the count, because a user can get any number of correct codes from their own chat.
 */
const BY_USER: ThrottleRule = { name: 'link code', free: 5, first: 5, longest: 900, isKept: true }
/** Limits attempts per network. Allows more codes, because all users of a tenant may share one address. */
const BY_NETWORK: ThrottleRule = { name: 'link code from', free: 20, first: 2, longest: 60 }

export interface LinkingDeps {
  db: Scopes
  clock: Clock
  chats: Chats
  mailer: Mailer
  throttle: Throttle
  reply: Reply
  unlink: Unlink
  requireSignedIn: RequireSignedIn
  /** The health of the bot, or undefined if no bot is configured. */
  health: BotHealth | undefined
}

export interface Linking {
  status(caller: Caller): Promise<MessengerStatus>
  /**
   * Links the chat that received the code.
   * @throws Problem 503 without a bot, 400 for an invalid code, 409 for another user's chat, 429 after too many codes
   */
  link(caller: Caller, code: string): Promise<MessengerStatus>
  unlink(caller: Caller): Promise<MessengerStatus>
  subscribe(caller: Caller, events: readonly string[]): Promise<MessengerStatus>
}

export function linkingService(deps: LinkingDeps): Linking {
  const { db, clock, chats, health } = deps

  async function statusOf(tx: TenantTx, caller: Caller): Promise<MessengerStatus> {
    const [link, events] = await Promise.all([
      store.findLink(tx, keysOf(caller)),
      store.findEvents(tx, keysOf(caller)),
    ])
    const chat = link && (await chats.openOrNull(tx, link))
    return {
      enabled: health !== undefined,
      linked: link !== undefined,
      username: chat?.username ?? null,
      linked_at: link?.linked_at ?? null,
      events: events ?? [...SECURITY_EVENTS],
      available_events: [...availableTo(caller.role)],
      bot_username: health?.username() ?? null,
    }
  }

  /** Consumes the code and links its chat. Runs across tenants, because codes and chats belong to no tenant. */
  async function linkWith(tx: TenantTx, caller: Caller, code: string): Promise<void> {
    const taken = await store.takeCode(tx, chats.hashOfCode(code), isoAt(clock))
    if (!taken) throw new Problem('link_code_invalid')
    const { chat_hash } = taken
    const user = keysOf(caller)
    // Locks the owner before the chats, like the deletion of an account, so that the two cannot deadlock.
    const owner = await store.lockOwner(tx, user)
    if (!owner) throw new Problem('invalid_token')
    // Checks the session while the owner is locked. A session that a new password has ended can then not link a chat.
    await deps.requireSignedIn(tx, caller)
    const before = await store.findLink(tx, user)
    await store.lockChats(tx, before ? [chat_hash, before.chat_hash] : [chat_hash])
    const linked = await store.lockLinkOfChat(tx, chat_hash)
    // The chat is already linked to the caller's account, so nothing has to change.
    if (linked?.user_id === caller.user_id) return
    if (linked) throw new Problem('chat_linked')
    const chat = chats.open<Chat>(SEALED_CODES, chat_hash, taken.sealed_chat)
    await deps.unlink(tx, user, actorOf(caller), 'replaced', REPLACED)
    const sealed_chat = await chats.sealFor(tx, user, chat)
    await store.insertLink(tx, { ...user, chat_hash, sealed_chat })
    await mailOwner(tx, caller, owner, chat)
  }

  async function mailOwner(
    tx: TenantTx,
    caller: Caller,
    owner: store.Owner,
    chat: Chat,
  ): Promise<void> {
    await append(tx, actorOf(caller), {
      action: 'messenger.linked',
      tenant_id: caller.tenant_id,
      resource_type: 'user',
      resource_id: caller.user_id,
    })
    await deps.reply(tx, chat.id, linkedText(owner))
    if (!owner.is_confirmed) return
    const letter = linkedLetter({ ...owner, chat, at: isoAt(clock) })
    await deps.mailer.send(tx, { to: owner.email, ...letter })
  }

  return {
    status: (caller) => db.inTenant(caller.tenant_id, (tx) => statusOf(tx, caller), 'read'),

    async link(caller, code) {
      if (!health) throw new Problem('messenger_unconfigured', { retryAfter: 3600 })
      await deps.throttle.guess(
        [
          { rule: BY_USER, of: String(caller.user_id) },
          { rule: BY_NETWORK, of: networkOf(caller.origin.ip) },
        ],
        () => db.acrossTenants((tx) => linkWith(tx, caller, code)),
      )
      return this.status(caller)
    },

    async unlink(caller) {
      await db.acrossTenants((tx) =>
        deps.unlink(tx, keysOf(caller), actorOf(caller), 'api', UNLINKED),
      )
      return this.status(caller)
    },

    async subscribe(caller, events) {
      const wanted = [...new Set(events)]
      await db.inTenant(caller.tenant_id, async (tx) => {
        const before = await store.findEvents(tx, keysOf(caller))
        if (before && before.join() === wanted.join()) return
        await store.saveEvents(tx, keysOf(caller), wanted)
        await append(tx, actorOf(caller), {
          action: 'messenger.subscribed',
          tenant_id: caller.tenant_id,
          resource_type: 'user',
          resource_id: caller.user_id,
          changes: { before: before ?? null, after: wanted },
        })
      })
      return this.status(caller)
    },
  }
}

const keysOf = ({ tenant_id, user_id }: Caller) => ({ tenant_id, user_id })
