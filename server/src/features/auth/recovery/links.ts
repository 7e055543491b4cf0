/** Links by mail: made by a job, so that asking for one tells nothing about who has an account. */
import { type Clock, DAY, HOUR, isoAt } from '../../../lib/clock.ts'
import { foldEmail } from '../../../lib/email.ts'
import { networkOf } from '../../../lib/network.ts'
import type { Origin } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type JobKind, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, journalEntry } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Count, Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { AskedTenant } from '../../tenants/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import { resetMail, verificationMail } from '../mails.ts'
import { newToken } from '../tokens/opaque-tokens.ts'
import * as store from './account-tokens.store.ts'
import type { TokenPurpose } from './account-tokens.table.ts'

const LIFE: Record<TokenPurpose, number> = { verify_email: DAY, reset_password: HOUR }

/**
 * Nobody's mailbox is filled by others. Counted where a mail is written: what sends none keeps no owner from a
 * link of their own.
 */
const BY_MAILBOX: ThrottleRule = { name: 'mail', free: 3, first: 60, longest: 3600 }
/** Asking is slowed by where it comes from, whomever it is for. */
const BY_ADDRESS: ThrottleRule = { name: 'mail from', free: 30, first: 10, longest: 900 }

/** A link that is asked for. Whether there is such an account is found out later, by the job. */
interface LinkJob {
  purpose: TokenPurpose
  email: string
  /** Null for the accounts of the address in all tenants. */
  tenant: AskedTenant | null
  origin: Origin
}

const LINK_JOB: JobKind<LinkJob> = jobKind<LinkJob>('auth.send-link', {
  retries: 20,
  retryDelaySeconds: 5,
  retryBackoff: true,
  expireInSeconds: 60,
  // It would take the place of a link that was asked for since.
  mayRunLate: false,
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
  /** Queues the link and returns the same, in the same time, whether there is such an account or not. */
  requestLink(asked: Omit<LinkJob, 'tenant'> & { tenant: AskedTenant | undefined }): Promise<void>
  /**
   * Takes the next mail for a mailbox. Returns false while the mailbox was sent too many, so that nobody fills it by
   * registering its address in many tenants.
   */
  takeVerification(email: string): Promise<boolean>
  /** Sends a verification link within the transaction that made the account. */
  sendVerification(tx: TenantTx, account: accounts.Account, origin: Origin): Promise<void>
}

export function sendingLinks(deps: LinksDeps): Links {
  const { db, clock, mailer, jobs, throttle } = deps

  async function send(
    tx: TenantTx,
    account: accounts.Account,
    purpose: TokenPurpose,
    origin: Origin,
  ) {
    const token = newToken(account.tenant_id)
    await store.replaceToken(tx, {
      tenant_id: account.tenant_id,
      user_id: account.id,
      purpose,
      token_hash: token.hash,
      email: account.email,
      expires_at: isoAt(clock, LIFE[purpose]),
    })
    const [page, compose] = PAGES[purpose]
    // Behind the `#` it is sent to no server, and stands in no log (ASVS 14.2.1).
    const url = `${deps.publicUrl}${page}#token=${encodeURIComponent(token.text)}`
    // Anybody may have registered the address, under any name: none of their words is passed on.
    const name = account.email_verified ? account.full_name : null
    const message = compose({ name, clinic: account.tenant_name, url })
    await mailer.send(tx, { to: account.email, ...message })
    await append(
      tx,
      { user_id: account.id, user_email: account.email, origin },
      {
        ...journalEntry(
          purpose === 'verify_email' ? 'auth.verification_sent' : 'auth.reset_requested',
          'user',
          account,
        ),
      },
    )
  }

  // One transaction for all accounts of the address: tried again, it sends nothing twice.
  jobs.work(LINK_JOB, ({ purpose, email, tenant, origin }) =>
    db.acrossTenants(async (tx) => {
      const found = await accounts.findAccounts(tx, email, tenant ?? undefined, {
        unconfirmed: purpose === 'verify_email',
      })
      const recipients = found.filter((account) => account.tenant_is_active)
      if (recipients.length === 0) return
      if (!(await throttle.take(tx, mailboxOf(purpose, email)))) return
      for (const account of recipients) await send(tx, account, purpose, origin)
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

    sendVerification: (tx, account, origin) => send(tx, account, 'verify_email', origin),
  }
}

const mailboxOf = (purpose: TokenPurpose, email: string): Count => ({
  rule: BY_MAILBOX,
  of: `${purpose}/${email}`,
})

const PAGES = {
  verify_email: ['/verify-email', verificationMail],
  reset_password: ['/reset-password', resetMail],
} as const
