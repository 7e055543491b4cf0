/** Verifying an address and getting back in: links by mail, each good once (decisions §3). */
import { type Clock, DAY, HOUR, isoAt } from '../../../lib/clock.ts'
import { foldEmail } from '../../../lib/email.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import { type Passwords, refuseWeakPassword } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type JobKind, type Jobs, jobKind } from '../../../platform/jobs/index.ts'
import { append, journalEntry } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { AskedTenant } from '../../tenants/index.ts'
import { markVerified, setPassword } from '../../users/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import { resetLetter, verificationLetter } from '../mails.ts'
import type { Tell } from '../notices/notices.service.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import { newToken, type OpaqueToken, parseToken } from '../tokens/opaque-tokens.ts'
import * as store from './account-tokens.store.ts'
import type { TokenPurpose } from './account-tokens.table.ts'

const LIFE: Record<TokenPurpose, number> = { verify_email: DAY, reset_password: HOUR }

/** Nobody's mailbox is filled by others: asking for links is slowed by address asked for and from. */
const BY_MAILBOX: ThrottleRule = { name: 'mail', free: 3, first: 60, longest: 3600 }
const BY_ADDRESS: ThrottleRule = { name: 'mail from', free: 30, first: 10, longest: 900 }

/** Guesses at the password of an account, by whoever has the link that was mailed for it. */
const BY_OWNER: ThrottleRule = { name: 'confirm', free: 5, first: 5, longest: 900 }

/** A wish for a link. Whether there is such an account is found out later, by the job. */
interface Wish {
  purpose: TokenPurpose
  email: string
  /** Null for the accounts of the address in all tenants. */
  tenant: AskedTenant | null
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
  tell: Tell
  jobs: Jobs
  throttle: Throttle
  publicUrl: string
}

export interface Recovery {
  /** Takes the wish and answers the same, in the same time, whether there is such an account or not. */
  requestLink(wish: Omit<Wish, 'tenant'> & { tenant: AskedTenant | undefined }): Promise<void>
  /** Sends a verification link within the transaction that made the account. */
  sendVerification(tx: TenantTx, account: accounts.Account, origin: Origin): Promise<void>
  /**
   * Confirms the address. The page of the link gives the password as well, so that nobody confirms an
   * account that a stranger prepared; a wrong one leaves the link good.
   * @throws Problem 400 when the link is no longer good, 403 for a wrong password
   */
  verifyEmail(text: string, password: string | undefined, origin: Origin): Promise<void>
  /** Sets the password, ends all sessions. @throws Problem 400 when the link is no longer good */
  resetPassword(text: string, password: string, origin: Origin): Promise<void>
  /** Ends the sessions of a user whose password was set, voids what was sent to them, and tells them. */
  passwordSet(tx: TenantTx, user: { id: number; tenant_id: number }): Promise<void>
}

export function recoveryService(deps: RecoveryDeps): Recovery {
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
    const letter = compose({ name, clinic: account.tenant_name, url })
    await mailer.send(tx, { to: account.email, ...letter })
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
      for (const account of found)
        if (account.tenant_is_active) await send(tx, account, purpose, origin)
    }),
  )

  /** Uses the link up and runs `work` for its user, or refuses. */
  async function redeem(
    text: string,
    purpose: TokenPurpose,
    work: (tx: TenantTx, account: accounts.Account) => Promise<void>,
  ): Promise<void> {
    const token: OpaqueToken | undefined = parseToken(text)
    if (!token) throw new Problem('link_expired')
    await db.inTenant(token.tenantId, async (tx) => {
      const owner = await store.findTokenOwner(tx, purpose, token.hash, isoAt(clock))
      // The user before the token, as whoever deletes the user takes them in this order.
      const account = owner && (await accounts.lockAccount(tx, owner.user_id))
      const used = account && (await store.consumeToken(tx, purpose, token.hash, isoAt(clock)))
      // Sent to an address that the account no longer has: the link says nothing any more.
      if (!account?.tenant_is_active || account.email !== used?.email)
        throw new Problem('link_expired')
      await work(tx, account)
    })
  }

  /** @throws Problem 400 when the link is of no use by now; whether it still is, redeeming decides */
  async function requireLink(text: string, purpose: TokenPurpose): Promise<store.TokenOwner> {
    const token = parseToken(text)
    const owner =
      token &&
      (await db.inTenant(
        token.tenantId,
        (tx) => store.findTokenOwner(tx, purpose, token.hash, isoAt(clock)),
        'read',
      ))
    if (!owner) throw new Problem('link_expired')
    return owner
  }

  /** @throws Problem 403 unless it is the password of the account that the link is for */
  async function requirePassword(text: string, password: string, party: string): Promise<void> {
    const owner = await requireLink(text, 'verify_email')
    await throttle.guess([{ rule: BY_OWNER, of: String(owner.user_id) }], async () => {
      if (!(await deps.passwords.verify(owner.password_hash, password, party)))
        throw new Problem('wrong_password', {
          detail:
            'This is not the password of the account. If you have not chosen one, do not confirm it',
        })
    })
  }

  async function passwordSet(tx: TenantTx, user: { id: number; tenant_id: number }): Promise<void> {
    await store.voidTokens(tx, user)
    const which = { tenantId: user.tenant_id, userId: user.id }
    await deps.sessions.end(tx, which, 'password_changed')
    await deps.tell(tx, user, { kind: 'password_changed' })
  }

  return {
    async requestLink({ purpose, tenant, origin, ...wish }) {
      const email = foldEmail(wish.email)
      await throttle.count({ rule: BY_ADDRESS, of: networkOf(origin.ip) })
      const isTooOften = await throttle
        .count({ rule: BY_MAILBOX, of: `${purpose}/${email}` })
        .then(() => false, refusedOrThrow)
      // The same answer: that somebody else has asked already is nobody's business.
      if (isTooOften) return
      await db.acrossTenants((tx) =>
        jobs.send(tx, LINK_JOB, {
          purpose,
          email,
          tenant: tenant ?? null,
          origin: { ...origin },
        }),
      )
    },

    sendVerification: (tx, account, origin) => send(tx, account, 'verify_email', origin),

    async verifyEmail(text, password, origin) {
      if (password !== undefined) await requirePassword(text, password, networkOf(origin.ip))
      await redeem(text, 'verify_email', async (tx, account) => {
        await markVerified(tx, account.id, isoAt(clock))
        tx.invalidate(`user:${account.id}`)
        await append(
          tx,
          { user_id: account.id, user_email: account.email, origin },
          {
            ...journalEntry('user.email_verified', 'user', account),
          },
        )
      })
    },

    async resetPassword(text, password, origin) {
      // Looked at before the costly hash, so that made-up links keep no sign-in waiting.
      await requireLink(text, 'reset_password')
      const hash = await deps.passwords.hash(password, networkOf(origin.ip))
      await redeem(text, 'reset_password', async (tx, account) => {
        refuseWeakPassword(password, account.email, ['body', 'new_password'])
        await setPassword(tx, account.id, hash)
        // Whoever could read the mail has the address.
        await markVerified(tx, account.id, isoAt(clock))
        await passwordSet(tx, account)
        await append(
          tx,
          { user_id: account.id, user_email: account.email, origin },
          {
            ...journalEntry('user.password_changed', 'user', account),
            changes: { by: 'reset link' },
          },
        )
      })
    },

    passwordSet,
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
