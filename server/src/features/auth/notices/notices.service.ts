/** Tells the owner of an account by mail what has become of its password and second factor (ASVS 6.3.6). */
import type { Clock } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { type News, noticeMail } from '../mails.ts'
import { findRecipient } from './notices.store.ts'

/**
 * Writes the mail on the transaction of what it tells of. Only an address that is confirmed gets one:
 * of any other nobody knows whose it is.
 */
export type Tell = (
  tx: TenantTx,
  user: { id: number; tenant_id: number },
  news: News,
) => Promise<void>

export function noticesTo({ mailer, clock }: { mailer: Mailer; clock: Clock }): Tell {
  return async (tx, user, news) => {
    const recipient = await findRecipient(tx, user)
    if (!recipient) return
    const { email: to, name, clinic } = recipient
    await mailer.send(tx, { to, ...noticeMail({ news, name, clinic, at: clock.now() }) })
  }
}
