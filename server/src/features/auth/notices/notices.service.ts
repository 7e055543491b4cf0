/** Tells the owner of an account by mail what has become of its password and second factor (ASVS 6.3.6). */
import type { Clock } from '../../../lib/clock.ts'
import type { TenantTx } from '../../../platform/db/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { approvalMail, type News, noticeMail, refusalMail } from '../mails.ts'
import { findClinic, findRecipient } from './notices.store.ts'

/**
 * Writes the mail on the transaction of what it tells of. Only an address that is confirmed gets one:
 * of any other nobody knows whose it is.
 */
export type Tell = (
  tx: TenantTx,
  user: { id: number; tenant_id: number },
  news: News,
  /** Whether the name of the account is the owner's own word; any other is not written to them. */
  isNameTheirs?: boolean,
) => Promise<void>

/** Notifies a confirmed address that the account no longer has it. */
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

export function noticesTo({ mailer, clock }: { mailer: Mailer; clock: Clock }): Tell {
  return async (tx, user, news, isNameTheirs = true) => {
    const recipient = await findRecipient(tx, user)
    if (!recipient) return
    const { email: to, clinic } = recipient
    const name = isNameTheirs ? recipient.name : null
    await mailer.send(tx, { to, ...noticeMail({ news, name, clinic, at: clock.now() }) })
  }
}

/**
 * Tells an applicant whether their registration was approved, in the transaction of the decision. A refusal comes
 * before the account is deleted. Only a confirmed address gets a mail.
 */
export type TellApplicant = (
  tx: TenantTx,
  user: { id: number; tenant_id: number },
  decision: 'approved' | 'refused',
) => Promise<void>

/** Where the console signs people in. */
const SIGN_IN_PAGE = '/console/sign-in'

export function noticesToApplicants({
  mailer,
  publicUrl,
}: {
  mailer: Mailer
  publicUrl: string
}): TellApplicant {
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
