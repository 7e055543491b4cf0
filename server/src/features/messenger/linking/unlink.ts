/** Unlinks a chat, for any reason. Records this in the journal, and notifies the chat and the owner of the account. */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import { type Actor, append } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Chats } from './chats.ts'
import * as store from './links.store.ts'
import { type UnlinkReason, unlinkedLetter } from './mails.ts'
import type { Reply } from './replies.ts'

export interface UnlinkDeps {
  clock: Clock
  chats: Chats
  mailer: Mailer
  reply: Reply
}

/**
 * Deletes the link and its waiting notices. Returns the link, or undefined if it does not exist. With an `id`, keeps a
 * newer link of the user.
 * @param say the text for the chat. Omitted if the chat cannot be reached, or has already got an answer
 */
export type Unlink = (
  tx: TenantTx,
  of: store.LinkOf,
  actor: Actor,
  reason: UnlinkReason,
  say?: string,
) => Promise<store.Link | undefined>

export function unlinker({ clock, chats, mailer, reply }: UnlinkDeps): Unlink {
  return async (tx, of, actor, reason, say) => {
    const link = await store.deleteLink(tx, of, isoAt(clock))
    if (!link) return undefined
    const chat = await chats.openOrNull(tx, link)
    if (say && chat) await reply(tx, chat.id, say)
    await append(tx, actor, {
      action: 'messenger.unlinked',
      tenant_id: of.tenant_id,
      resource_type: 'user',
      resource_id: of.user_id,
      changes: { reason },
    })
    if (reason === 'deleted' || reason === 'disowned') return link
    const owner = await store.findOwner(tx, of)
    if (owner?.is_confirmed) {
      const letter = unlinkedLetter({ ...owner, chat, at: isoAt(clock), reason })
      await mailer.send(tx, { to: owner.email, ...letter })
    }
    return link
  }
}
