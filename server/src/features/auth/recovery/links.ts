/**
 * Sends links by mail. If an anonymous caller requests a link, a background job sends it, so that the response does not
 * reveal whether the account exists. If an administrator sends a link, the mail is written in the administrator's
 * transaction.
 */
import { type Clock, DAY, HOUR, isoAt } from '../../../lib/clock.ts'
import { foldEmail } from '../../../lib/email.ts'
import { networkOf } from '../../../lib/network.ts'
import type { Origin } from '../../../platform/access/index.ts'
import { newToken } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type JobKind, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { type Action, type Actor, append, journalEntry } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { GuessCount, Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { AskedTenant } from '../../tenants/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import { invitationMail, resetMail, verificationMail } from '../mails.ts'
import * as store from './account-tokens.store.ts'
import type { TokenPurpose } from './account-tokens.table.ts'

const LIFE: Record<TokenPurpose, number> = {
  verify_email: DAY,
  reset_password: HOUR,
  invitation: 7 * DAY,
}

/** Limits mails to one mailbox. Counts only sent mails, so unknown accounts cannot use up the owner's limit. */
const BY_MAILBOX: ThrottleRule = { name: 'mail', free: 3, first: 60, longest: 3600 }
/** Limits the link requests from one network. Counts the requests for all recipients together. */
const BY_ADDRESS: ThrottleRule = { name: 'mail from', free: 30, first: 10, longest: 900 }

/** A request for a link. Only the background job checks whether the account exists. */
interface LinkJob {
  purpose: Exclude<TokenPurpose, 'invitation'>
  email: string
  /** The requested tenant; null for all tenants in which the address has an account. */
  tenant: AskedTenant | null
  origin: Origin
}

const LINK_JOB: JobKind<LinkJob> = jobKind<LinkJob>('auth.send-link', {
  retries: 20,
  retryDelaySeconds: 5,
  retryBackoff: true,
  expireInSeconds: 60,
  // Does not retry, because a late retry would replace a link that the user has requested since then.
})

interface LinksDeps {
  db: Scopes
  clock: Clock
  mailer: Mailer
  jobs: Jobs
  throttle: Throttle
  publicUrl: string
}

export interface Links {
  /** Queues a job that sends the link. The duration and the result are the same whether or not the account exists. */
  requestLink(asked: Omit<LinkJob, 'tenant'> & { tenant: AskedTenant | undefined }): Promise<void>
  /** Counts a confirmation mail; false at the limit. Prevents flooding a mailbox by registrations in many tenants. */
  takeVerification(email: string): Promise<boolean>
  /** Counts an invitation against the limit of its mailbox. @throws Problem 429 after too many invitations */
  countInvitation(email: string): Promise<void>
  /** Sends a link in the transaction that created or changed the account. */
  sendLink(tx: TenantTx, user: accounts.AccountKey, purpose: TokenPurpose, by: Actor): Promise<void>
}

export function sendingLinks(deps: LinksDeps): Links {
  const { db, clock, mailer, jobs, throttle } = deps

  async function send(tx: TenantTx, account: accounts.Account, purpose: TokenPurpose, by: Actor) {
    const token = newToken(account.tenant_id)
    await store.replaceToken(tx, {
      tenant_id: account.tenant_id,
      user_id: account.id,
      purpose,
      token_hash: token.hash,
      email: account.email,
      expires_at: isoAt(clock, LIFE[purpose]),
    })
    const { page, compose, action } = KINDS[purpose]
    // Browsers do not send the part after `#` to a server, so the token never appears in a log (ASVS 14.2.1).
    const url = `${deps.publicUrl}${page}#token=${encodeURIComponent(token.text)}`
    // Omits the name of an unconfirmed account, because a stranger may have registered the address.
    const name = account.email_verified ? account.full_name : null
    const message = compose({ name, clinic: account.tenant_name, url })
    await mailer.send(tx, { to: account.email, ...message })
    await append(tx, by, journalEntry(action, 'user', account))
  }

  // Handles all accounts of the address in one transaction, so that a retried job sends no mail twice.
  jobs.work(LINK_JOB, ({ purpose, email, tenant, origin }) =>
    db.acrossTenants(async (tx) => {
      const found = await accounts.findAccounts(tx, email, tenant ?? undefined, {
        confirmed: purpose === 'reset_password',
      })
      const recipients = found.filter((account) => account.tenant_is_active)
      if (recipients.length === 0) return
      if (!(await throttle.take(tx, mailboxOf(purpose, email)))) return
      for (const account of recipients) await send(tx, account, purpose, ownerOf(account, origin))
    }),
  )

  return {
    async requestLink({ purpose, tenant, origin, ...asked }) {
      await throttle.count({ rule: BY_ADDRESS, of: networkOf(origin.ip) })
      await db.acrossTenants((tx) =>
        jobs.send(tx, LINK_JOB, {
          purpose,
          email: foldEmail(asked.email),
          tenant: tenant ?? null,
          origin: { ...origin },
        }),
      )
    },

    takeVerification: (email) =>
      db.acrossTenants((tx) => throttle.take(tx, mailboxOf('verify_email', foldEmail(email)))),

    countInvitation: (email) => throttle.count(mailboxOf('invitation', foldEmail(email))),

    async sendLink(tx, user, purpose, by) {
      const account = await accounts.findAccount(tx, user)
      if (account) await send(tx, account, purpose, by)
    },
  }
}

const mailboxOf = (purpose: TokenPurpose, email: string): GuessCount => ({
  rule: BY_MAILBOX,
  of: `${purpose}/${email}`,
})

interface LinkKind {
  page: string
  compose: typeof resetMail
  action: Action
}

const KINDS: Readonly<Record<TokenPurpose, LinkKind>> = {
  verify_email: {
    page: '/console/verify-email',
    compose: verificationMail,
    action: 'auth.verification_sent',
  },
  reset_password: {
    page: '/console/reset-password',
    compose: resetMail,
    action: 'auth.reset_requested',
  },
  invitation: { page: '/console/invitation', compose: invitationMail, action: 'user.invited' },
}

/** Returns the owner of an account as the actor for journal entries. */
export const ownerOf = ({ id, email }: accounts.Account, origin: Origin): Actor => ({
  user_id: id,
  user_email: email,
  origin,
})
