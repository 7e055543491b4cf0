/** Verifying an address and getting back in: links by mail, each good once (decisions §3). */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Origin } from '../../../platform/access/index.ts'
import { type Passwords, refuseWeakPassword } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Jobs } from '../../../platform/jobs/index.ts'
import { type Actor, append, journalEntry } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import { markVerified, setPassword } from '../../users/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import type { Tell } from '../notices/notices.service.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import { type OpaqueToken, parseToken } from '../tokens/opaque-tokens.ts'
import * as store from './account-tokens.store.ts'
import type { TokenPurpose } from './account-tokens.table.ts'
import { type Links, sendingLinks } from './links.ts'

/** Guesses at the password of an account, by whoever has the link that was mailed for it. */
const BY_OWNER: ThrottleRule = { name: 'confirm', free: 5, first: 5, longest: 900 }

export type Disown = (
  tx: TenantTx,
  actor: Actor,
  user: { id: number; tenant_id: number },
) => Promise<unknown>

export interface RecoveryDeps {
  db: Scopes
  clock: Clock
  passwords: Passwords
  sessions: Sessions
  mailer: Mailer
  tell: Tell
  /** Takes away what lets others into an account, or hear of it: a second factor, a linked chat. */
  disown: readonly Disown[]
  jobs: Jobs
  throttle: Throttle
  publicUrl: string
}

export interface Recovery extends Links {
  /**
   * Confirms the address. The page of the link gives the password as well, so that nobody confirms an
   * account that a stranger prepared; a wrong one leaves the link good.
   * @throws Problem 400 when the link is no longer good, 403 for a wrong password
   */
  verifyEmail(text: string, password: string | undefined, origin: Origin): Promise<void>
  /**
   * Sets the password, ends all sessions. Where nobody had confirmed the address yet, the second factor and
   * the linked chat go as well, as a stranger may have prepared the account.
   * @throws Problem 400 when the link is no longer good
   */
  resetPassword(text: string, password: string, origin: Origin): Promise<void>
  /** Ends the sessions of a user whose password was set, voids what was sent to them, and tells them. */
  passwordSet(tx: TenantTx, user: { id: number; tenant_id: number }): Promise<void>
}

export function recoveryService(deps: RecoveryDeps): Recovery {
  const { db, clock, throttle } = deps

  /** Uses the link up and runs `work` for its user, or refuses. */
  async function consumeLink(
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

  /** @throws Problem 400 when the link is of no use by now; whether it still is, consuming it decides */
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

  /** Whoever could read the mail has the address; entered the first time that it is shown. */
  async function addressShown(
    tx: TenantTx,
    account: accounts.Account,
    origin: Origin,
  ): Promise<void> {
    if (await markVerified(tx, account.id, isoAt(clock)))
      await append(
        tx,
        actorOf(account, origin),
        journalEntry('user.email_verified', 'user', account),
      )
  }

  async function passwordSet(
    tx: TenantTx,
    user: { id: number; tenant_id: number },
    isNameTheirs = true,
  ): Promise<void> {
    await store.voidTokens(tx, user)
    const which = { tenantId: user.tenant_id, userId: user.id }
    await deps.sessions.end(tx, which, 'password_changed')
    await deps.tell(tx, user, { kind: 'password_changed' }, isNameTheirs)
  }

  return {
    ...sendingLinks(deps),

    async verifyEmail(text, password, origin) {
      if (password !== undefined) await requirePassword(text, password, networkOf(origin.ip))
      await consumeLink(text, 'verify_email', async (tx, account) => {
        await addressShown(tx, account, origin)
        tx.invalidate(`user:${account.id}`)
      })
    },

    async resetPassword(text, password, origin) {
      // Looked at before the costly hash, so that made-up links keep no sign-in waiting.
      await requireLink(text, 'reset_password')
      const hash = await deps.passwords.hash(password, networkOf(origin.ip))
      await consumeLink(text, 'reset_password', async (tx, account) => {
        refuseWeakPassword(password, account.email, ['body', 'new_password'])
        await setPassword(tx, account.id, hash)
        const actor = actorOf(account, origin)
        // Whoever has set up what is there may be a stranger: nobody has shown yet that the address is theirs.
        if (!account.email_verified)
          for (const disown of deps.disown) await disown(tx, actor, account)
        await addressShown(tx, account, origin)
        await passwordSet(tx, account, account.email_verified)
        await append(tx, actor, {
          ...journalEntry('user.password_changed', 'user', account),
          changes: { by: 'reset link' },
        })
      })
    },

    passwordSet: (tx, user) => passwordSet(tx, user),
  }
}

const actorOf = ({ id, email }: accounts.Account, origin: Origin) => ({
  user_id: id,
  user_email: email,
  origin,
})
