/** Confirms addresses, resets passwords and accepts invitations by mailed, single-use links (decisions §3). */
import { type Clock, isoAt } from '../../../lib/clock.ts'
import { networkOf } from '../../../lib/network.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller, Origin } from '../../../platform/access/index.ts'
import {
  type OpaqueToken,
  type Passwords,
  parseToken,
  refuseWeakPassword,
} from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import type { Jobs } from '../../../platform/jobs/index.ts'
import { type Actor, actorOf, append, journalEntry } from '../../../platform/journal/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import { markVerified, setPassword } from '../../users/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import type { AddressLeft, NotifyOwner } from '../notices/notices.service.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import * as store from './account-tokens.store.ts'
import type { TokenPurpose } from './account-tokens.table.ts'
import { type Links, ownerOf, sendingLinks } from './links.ts'

/** Limits how often a caller with a confirmation link may guess the password of the account. */
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
  notifyOwner: NotifyOwner
  addressLeft: AddressLeft
  /** Functions that remove what a stranger may have added to an account, such as a second factor or a linked chat. */
  disown: readonly Disown[]
  jobs: Jobs
  throttle: Throttle
  publicUrl: string
}

export interface Recovery extends Links {
  /**
   * Confirms the address. The page behind the link also asks for the password, so that nobody confirms an account that
   * a stranger has registered. After a wrong password the link stays valid.
   * @throws Problem 400 if the link was used or has expired, 403 for a wrong password
   */
  verifyEmail(text: string, password: string | undefined, origin: Origin): Promise<void>
  /**
   * Sets the password with a reset link or an invitation, confirms the address and ends all sessions. If the address
   * was unconfirmed and no administrator had entered it, a stranger may have registered the account. In that case also
   * removes the second factor and the linked chat.
   * @throws Problem 400 if the link was used or has expired
   */
  resetPassword(text: string, password: string, origin: Origin): Promise<void>
  /** Ends the sessions of a user whose password was set, invalidates the user's mailed links and notifies the user. */
  passwordSet(tx: TenantTx, user: { id: number; tenant_id: number }): Promise<void>
  /**
   * Ends the sessions of a user whose address an administrator changed, invalidates mailed links and notifies the
   * former address. Sends a link to the new address if `isMailed`.
   */
  addressChanged(
    tx: TenantTx,
    by: Caller,
    former: { email: string; full_name: string; email_verified: boolean } & accounts.AccountKey,
    isMailed: boolean,
  ): Promise<void>
  /** Sends a new user a link to confirm their address, or to choose a password if they have none. */
  welcome(tx: TenantTx, by: Caller, user: accounts.AccountKey): Promise<void>
  invite(tx: TenantTx, by: Caller, user: accounts.AccountKey): Promise<void>
}

const CONFIRMING = ['verify_email'] as const
const CHOOSING = ['reset_password', 'invitation'] as const

export function recoveryService(deps: RecoveryDeps): Recovery {
  const { db, clock, throttle } = deps

  /** Uses up the link and runs `work` in the same transaction. @throws Problem 400 for an invalid link */
  async function consumeLink(
    text: string,
    purposes: readonly TokenPurpose[],
    work: (tx: TenantTx, account: accounts.Account, purpose: TokenPurpose) => Promise<void>,
  ): Promise<void> {
    const token: OpaqueToken | undefined = parseToken(text)
    if (!token) throw new Problem('link_expired')
    await db.inTenant(token.tenantId, async (tx) => {
      const owner = await store.findTokenOwner(tx, purposes, token.hash, isoAt(clock))
      // Locks the user before the token. The deletion of a user locks in the same order.
      const key = owner && { id: owner.user_id, tenant_id: token.tenantId }
      const account = key && (await accounts.lockAccount(tx, key))
      const used = account && (await store.consumeToken(tx, purposes, token.hash, isoAt(clock)))
      // A link that was mailed to a previous address does not prove that the user owns the current one.
      if (!account?.tenant_is_active || account.email !== used?.email)
        throw new Problem('link_expired')
      await work(tx, account, used.purpose)
    })
  }

  /** Finds the user of a link without using it up. `consumeLink` checks it again. @throws Problem 400 if invalid */
  async function requireLink(
    text: string,
    purposes: readonly TokenPurpose[],
  ): Promise<store.TokenOwner> {
    const token = parseToken(text)
    const owner =
      token &&
      (await db.inTenant(
        token.tenantId,
        (tx) => store.findTokenOwner(tx, purposes, token.hash, isoAt(clock)),
        'read',
      ))
    if (!owner) throw new Problem('link_expired')
    return owner
  }

  /** Verifies the password of the link's account. @throws Problem 403 for a wrong password */
  async function requirePassword(text: string, password: string, party: string): Promise<void> {
    const owner = await requireLink(text, CONFIRMING)
    await throttle.guess([{ rule: BY_OWNER, of: String(owner.user_id) }], async () => {
      if (!(await deps.passwords.verify(owner.password_hash, password, party)))
        throw new Problem('wrong_password', {
          detail:
            'The password is wrong. If you did not register this account, do not confirm the address.',
        })
    })
  }

  /**
   * Marks the address as confirmed, because the caller has received a mail at the address. Journals only the first
   * confirmation.
   */
  async function addressShown(
    tx: TenantTx,
    account: accounts.Account,
    origin: Origin,
  ): Promise<void> {
    if (await markVerified(tx, account.id, isoAt(clock)))
      await append(
        tx,
        ownerOf(account, origin),
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
    await deps.notifyOwner(tx, user, { kind: 'password_changed' }, isNameTheirs)
  }

  const links = sendingLinks(deps)

  async function welcome(tx: TenantTx, by: Caller, user: accounts.AccountKey): Promise<void> {
    const account = await accounts.findAccount(tx, user)
    const purpose = account?.password_hash ? 'verify_email' : 'invitation'
    await links.sendLink(tx, user, purpose, actorOf(by))
  }

  return {
    ...links,

    async verifyEmail(text, password, origin) {
      if (password !== undefined) await requirePassword(text, password, networkOf(origin.ip))
      await consumeLink(text, CONFIRMING, async (tx, account) => {
        await addressShown(tx, account, origin)
        tx.invalidate(`user:${account.id}`)
      })
    },

    async resetPassword(text, password, origin) {
      // Checks the link before computing the expensive password hash, so that invented links do not slow down sign-ins.
      await requireLink(text, CHOOSING)
      const hash = await deps.passwords.hash(password, networkOf(origin.ip))
      await consumeLink(text, CHOOSING, async (tx, account, purpose) => {
        refuseWeakPassword(password, account.email, ['body', 'new_password'])
        await setPassword(tx, account.id, hash)
        const actor = ownerOf(account, origin)
        const isTheirs = account.email_verified || account.is_vouched
        if (!isTheirs) for (const disown of deps.disown) await disown(tx, actor, account)
        await addressShown(tx, account, origin)
        await passwordSet(tx, account, isTheirs)
        await append(tx, actor, {
          ...journalEntry('user.password_changed', 'user', account),
          changes: { by: purpose === 'invitation' ? 'invitation' : 'reset link' },
        })
      })
    },

    passwordSet: (tx, user) => passwordSet(tx, user),

    async addressChanged(tx, by, former, isMailed) {
      await store.voidTokens(tx, former)
      const which = { tenantId: former.tenant_id, userId: former.id }
      await deps.sessions.end(tx, which, 'email_changed')
      if (former.email_verified) await deps.addressLeft(tx, former)
      if (isMailed) await welcome(tx, by, former)
    },

    welcome,
    invite: (tx, by, user) => links.sendLink(tx, user, 'invitation', actorOf(by)),
  }
}
