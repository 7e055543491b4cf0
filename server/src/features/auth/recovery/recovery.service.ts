/** Verifying an address and getting back in: links by mail, each good once (decisions §3). */
import { createHash } from 'node:crypto'
import { type Clock, DAY, HOUR } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import { type Passwords, refuseWeakPassword } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type JobKind, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { TokenPurpose } from '../accounts.table.ts'
import { resetLetter, verificationLetter } from '../mails.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import * as users from '../sign-in/accounts.store.ts'
import type { Locate } from '../sign-in/locate.ts'
import { newToken, type OpaqueToken, parseToken } from '../tokens/opaque-tokens.ts'
import * as store from './account-tokens.store.ts'

const LIFE: Record<TokenPurpose, number> = { verify_email: DAY, reset_password: HOUR }

/** Nobody's mailbox is filled by others: asking for links is slowed by address asked for and from. */
const BY_MAILBOX: ThrottleRule = { name: 'mail', free: 3, first: 60, longest: 3600 }
const BY_ADDRESS: ThrottleRule = { name: 'mail from', free: 30, first: 10, longest: 900 }

/** A wish for a link. Whether there is such an account is found out later, by the job. */
interface Wish {
  purpose: TokenPurpose
  email: string
  subdomain: string | null
  origin: Origin
}

export const LINK_JOB: JobKind<Wish> = jobKind<Wish>('account-link', {
  retries: 20,
  retryDelaySeconds: 5,
  retryBackoff: true,
  expireInSeconds: 60,
})

export interface RecoveryDeps {
  db: Scopes
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  mailer: Mailer
  jobs: Jobs
  throttle: Throttle
  locate: Locate
  publicUrl: string
}

export interface Recovery {
  /** Takes the wish and answers the same, in the same time, whether there is such an account or not. */
  requestLink(wish: Omit<Wish, 'subdomain'> & { subdomain: string | undefined }): Promise<void>
  /** Sends a verification link within the transaction that made the account. */
  sendVerification(tx: TenantTx, account: users.Account, origin: Origin): Promise<void>
  /** @throws Problem 400 when the link is no longer good */
  verifyEmail(text: string, origin: Origin): Promise<void>
  /** Sets the password, ends all sessions. @throws Problem 400 when the link is no longer good */
  resetPassword(text: string, password: string, origin: Origin): Promise<void>
  /** Voids what was sent to a user, as their password or address has changed. */
  voidLinks(tx: TenantTx, user: { id: number; tenant_id: number }): Promise<void>
}

export function recoveryService(deps: RecoveryDeps): Recovery {
  const { db, clock, mailer, jobs, throttle } = deps
  const iso = (offset = 0) => new Date(clock.now() + offset).toISOString()

  async function send(tx: TenantTx, account: users.Account, purpose: TokenPurpose, origin: Origin) {
    const token = newToken(account.tenant_id)
    await store.replaceToken(tx, {
      tenant_id: account.tenant_id,
      user_id: account.id,
      purpose,
      token_hash: token.hash,
      email: account.email,
      expires_at: iso(LIFE[purpose]),
    })
    const [page, compose] = PAGES[purpose]
    const url = `${deps.publicUrl}${page}?token=${encodeURIComponent(token.text)}`
    const letter = compose(account.full_name, account.tenant_name, url)
    await mailer.send(tx, { to: account.email, ...letter })
    await append(
      tx,
      { user_id: account.id, user_email: account.email, origin },
      {
        action: purpose === 'verify_email' ? 'auth.verification_sent' : 'auth.reset_requested',
        tenant_id: account.tenant_id,
        resource_type: 'user',
        resource_id: account.id,
      },
    )
  }

  jobs.work(LINK_JOB, async ({ purpose, email, subdomain, origin }) => {
    const { account } = await deps.locate(email, subdomain ?? undefined)
    if (!account?.tenant_is_active) return
    if (purpose === 'verify_email' && account.email_verified) return
    await db.inTenant(account.tenant_id, (tx) => send(tx, account, purpose, origin))
  })

  /** Uses the link up and runs `work` for its user, or refuses. */
  async function redeem(
    text: string,
    purpose: TokenPurpose,
    work: (tx: TenantTx, account: users.Account) => Promise<void>,
  ): Promise<void> {
    const token: OpaqueToken | undefined = parseToken(text)
    if (!token) throw new Problem('link_expired')
    await db.inTenant(token.tenantId, async (tx) => {
      const used = await store.consumeToken(tx, purpose, token.hash, iso())
      const account = used && (await users.lockAccount(tx, used.user_id))
      // Sent to an address that the account no longer has: the link says nothing any more.
      if (!account?.tenant_is_active || account.email !== used?.email)
        throw new Problem('link_expired')
      await work(tx, account)
    })
  }

  /** @throws Problem 400 when the link is of no use by now; whether it still is, redeeming decides */
  async function requireLink(text: string, purpose: TokenPurpose): Promise<void> {
    const token = parseToken(text)
    const isKnown =
      token &&
      (await db.inTenant(
        token.tenantId,
        (tx) => store.hasToken(tx, purpose, token.hash, iso()),
        'read',
      ))
    if (!isKnown) throw new Problem('link_expired')
  }

  return {
    async requestLink({ purpose, email, subdomain, origin }) {
      await throttle.count({ rule: BY_ADDRESS, of: networkOf(origin.ip) })
      const isTooOften = await throttle
        .count({ rule: BY_MAILBOX, of: mailboxOf(purpose, email, subdomain) })
        .then(() => false, refusedOrThrow)
      // The same answer: that somebody else has asked already is nobody's business.
      if (isTooOften) return
      await db.acrossTenants((tx) =>
        jobs.send(tx, LINK_JOB, {
          purpose,
          email,
          subdomain: subdomain ?? null,
          origin: { ...origin },
        }),
      )
    },

    sendVerification: (tx, account, origin) => send(tx, account, 'verify_email', origin),

    verifyEmail: (text, origin) =>
      redeem(text, 'verify_email', async (tx, account) => {
        await users.markVerified(tx, account.id, iso())
        tx.stale(`user:${account.id}`)
        await append(
          tx,
          { user_id: account.id, user_email: account.email, origin },
          {
            action: 'user.email_verified',
            tenant_id: account.tenant_id,
            resource_type: 'user',
            resource_id: account.id,
          },
        )
      }),

    async resetPassword(text, password, origin) {
      const loc = ['body', 'new_password']
      refuseWeakPassword(password, '', loc)
      // Looked at before the costly hash, so that made-up links keep no sign-in waiting.
      await requireLink(text, 'reset_password')
      const hash = await deps.passwords.hash(password)
      await redeem(text, 'reset_password', async (tx, account) => {
        refuseWeakPassword(password, account.email, loc)
        await users.setPassword(tx, account.id, hash)
        // Whoever could read the mail has the address.
        await users.markVerified(tx, account.id, iso())
        await store.voidTokens(tx, account)
        const which = { tenantId: account.tenant_id, userId: account.id }
        await deps.sessions.end(tx, which, 'password_changed')
        await append(
          tx,
          { user_id: account.id, user_email: account.email, origin },
          {
            action: 'user.password_changed',
            tenant_id: account.tenant_id,
            resource_type: 'user',
            resource_id: account.id,
            changes: { by: 'reset link' },
          },
        )
      })
    },

    voidLinks: store.voidTokens,
  }
}

const PAGES = {
  verify_email: ['/verify-email', verificationLetter],
  reset_password: ['/reset-password', resetLetter],
} as const

function refusedOrThrow(error: unknown): true {
  if (error instanceof Problem && error.code === 'too_many_requests') return true
  throw error
}

/**
 * The mailbox that a wish is counted for: spelled as the account is looked up, and hashed, so that no
 * other spelling fills the count of somebody's mailbox.
 */
function mailboxOf(purpose: TokenPurpose, email: string, subdomain: string | undefined): string {
  const asked = JSON.stringify([purpose, email.toLowerCase(), subdomain?.toLowerCase() ?? null])
  return createHash('sha256').update(asked).digest('hex')
}
