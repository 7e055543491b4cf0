/** Notifies account owners by mail when their password or second factor changes (ASVS 6.3.6). */
import type { Clock } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { approvalMail, type News, noticeMail, refusalMail } from '../mails.ts'
import { findClinic, findRecipient } from './notices.store.ts'

/**
 * Sends a notice to the owner of an account, in the transaction of the change. Sends nothing to an unconfirmed address,
 * because it may belong to someone else.
 */
export type NotifyOwner = (
  tx: TenantTx,
  user: { id: number; tenant_id: number },
  news: News,
  /** False if someone other than the owner may have entered the name of the account. The mail then omits the name. */
  isNameTheirs?: boolean,
) => Promise<void>

/** Notifies the former address of an account that the account now uses another address. */
export type AddressLeft = (
  tx: TenantTx,
  former: { email: string; full_name: string; tenant_id: number },
) => Promise<void>

export function noticeToFormerAddress({
  mailer,
  clock,
}: {
  mailer: Mailer
  clock: Clock
}): AddressLeft {
  return async (tx, { email: to, full_name: name, tenant_id }) => {
    const clinic = await findClinic(tx, tenant_id)
    const news = { kind: 'address_changed' } as const
    await mailer.send(tx, { to, ...noticeMail({ news, name, clinic, at: clock.now() }) })
  }
}

export function noticesTo({ mailer, clock }: { mailer: Mailer; clock: Clock }): NotifyOwner {
  return async (tx, user, news, isNameTheirs = true) => {
    const recipient = await findRecipient(tx, user)
    if (!recipient) return
    const { email: to, clinic } = recipient
    const name = isNameTheirs ? recipient.name : null
    await mailer.send(tx, { to, ...noticeMail({ news, name, clinic, at: clock.now() }) })
  }
}

/**
 * Notifies applicants whether their registration was approved, in the transaction of the decision. To report a refusal,
 * call this function before deleting the account. Sends nothing to an unconfirmed address.
 */
export type NotifyApplicant = (
  tx: TenantTx,
  user: { id: number; tenant_id: number },
  decision: 'approved' | 'refused',
) => Promise<void>

const SIGN_IN_PAGE = '/console/sign-in'

export function noticesToApplicants({
  mailer,
  publicUrl,
}: {
  mailer: Mailer
  publicUrl: string
}): NotifyApplicant {
  return async (tx, user, decision) => {
    const recipient = await findRecipient(tx, user)
    if (!recipient) return
    const { email: to, clinic } = recipient
    const mail =
      decision === 'approved'
        ? approvalMail({ clinic, url: `${publicUrl}${SIGN_IN_PAGE}` })
        : refusalMail({ clinic })
    await mailer.send(tx, { to, ...mail })
  }
}
