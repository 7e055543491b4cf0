/** Enrols, verifies and removes the second factor (RFC 6238, decisions §3). */

import { renderSVG } from 'uqr'
import { type Clock, isoAt, MINUTE } from '../../../lib/clock.ts'
import { InvalidInput, orNotFound, Problem } from '../../../lib/problems.ts'
import type { Admin, Caller } from '../../../platform/access/index.ts'
import {
  type KeyRing,
  placeIn,
  type SealedPlace,
  type SealedTable,
} from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { type Actor, actorOf, append, journalEntry } from '../../../platform/journal/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import { findTenant } from '../../tenants/index.ts'
import type { CheckPassword, OnUser } from '../../users/index.ts'
import * as accounts from '../accounts/accounts.store.ts'
import type { NotifyOwner } from '../notices/notices.service.ts'
import { requireSignedIn } from '../sessions/ending.ts'
import type { Sessions } from '../sessions/sessions.service.ts'
import {
  describeSecret,
  hashRecoveryCode,
  newRecoveryCode,
  newTotpSecret,
  RECOVERY_CODES,
  stepOf,
} from './codes.ts'
import type { TotpSetup } from './second-factor.schema.ts'
import * as store from './second-factor.store.ts'

/** The encrypted column of the second factor, which contains the TOTP secret. */
export const SECOND_FACTORS: SealedTable = {
  table: 'second_factors',
  id: { column: 'user_id', type: 'bigint' },
  columns: ['sealed_secret'],
}

const totpSecretPlace = (userId: number): SealedPlace =>
  placeIn(SECOND_FACTORS, 'sealed_secret', userId)

/** Limits how often a signed-in user may guess codes of their own factor. */
export const CODE_GUESSES: ThrottleRule = { name: 'totp', free: 5, first: 5, longest: 900 }

/** The time after a sign-in during which a user who must enrol a second factor can do so without the password. */
const FRESH_FOR = 10 * MINUTE

export interface SecondFactorDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  throttle: Throttle
  sessions: Sessions
  notifyOwner: NotifyOwner
  checkPassword: CheckPassword
  onUser: OnUser
}

export interface SecondFactor {
  /**
   * Generates a secret for enrolment. Requires the password, because the session may be stolen.
   * @throws Problem 403 for a wrong password, 409 if a factor is already enrolled
   */
  setUp(caller: Caller, password: string | undefined): Promise<TotpSetup>
  /** Completes the enrolment, ends other sessions, returns recovery codes. @throws Problem 403 for a wrong code */
  enable(caller: Caller, code: string): Promise<string[]>
  /** Removes the factor and ends all sessions. @throws Problem 403 for a wrong password, 409 if a factor is required */
  disable(caller: Caller, password: string): Promise<void>
  /** Removes the factor of another user, for example after a lost phone, and ends the user's sessions. */
  removeFor(caller: Admin, userId: number): Promise<void>
  /** Removes a factor that a stranger may have enrolled. Sends no notice. The caller must end the sessions. */
  disown(tx: TenantTx, actor: Actor, user: { id: number; tenant_id: number }): Promise<unknown>
  /** Verifies and uses up a time-based or recovery code at sign-in. Returns whether it was valid. */
  verifyCode(tx: TenantTx, userId: number, code: string): Promise<boolean>
}

export function secondFactorService(deps: SecondFactorDeps): SecondFactor {
  const { db, clock, keyRing } = deps
  const keys = (caller: Caller) => ({ user_id: caller.user_id, tenant_id: caller.tenant_id })

  /** Verifies the password. Only users who must enrol and have just signed in may omit it. @throws InvalidInput */
  async function requirePassword(caller: Caller, password: string | undefined): Promise<void> {
    if (password !== undefined) return void (await deps.checkPassword(caller, password))
    const isFresh =
      caller.restriction === 'enrolment' && (await deps.sessions.isStartedWithin(caller, FRESH_FOR))
    if (!isFresh)
      throw new InvalidInput([
        { loc: ['body', 'password'], msg: 'Field required', type: 'missing' },
      ])
  }

  /**
   * Locks the caller's account, then checks that the session has not ended. Blocking the user and changing the password
   * take the same lock, so neither can end the session after this check.
   * @throws Problem 401 if the session has ended
   */
  async function lockOwnAccount(tx: TenantTx, caller: Caller): Promise<void> {
    await accounts.lockAccount(tx, { id: caller.user_id, tenant_id: caller.tenant_id })
    await requireSignedIn(tx, caller)
  }

  async function takeCode(tx: TenantTx, userId: number, factor: store.Factor, code: string) {
    const tenantKeys = await keyRing.ofTenant(tx, tx.tenantId as number)
    const secret = tenantKeys.open(factor.sealed_secret, totpSecretPlace(userId))
    const step = stepOf(secret, code, clock.now())
    return step !== null && (await store.takeStep(tx, userId, step))
  }

  function record(
    tx: TenantTx,
    actor: Actor,
    user: { id: number; tenant_id: number },
    action: `auth.totp_${'offered' | 'enabled' | 'disabled'}`,
  ) {
    tx.invalidate(`user:${user.id}`)
    return append(tx, actor, journalEntry(action, 'user', user))
  }

  /** Deletes a user's factor. Returns whether it was confirmed or only offered; undefined without a factor. */
  async function disown(tx: TenantTx, actor: Actor, user: { id: number; tenant_id: number }) {
    const removed = await store.remove(tx, { user_id: user.id, tenant_id: user.tenant_id })
    if (removed) await record(tx, actor, user, 'auth.totp_disabled')
    return removed
  }

  /** Deletes a user's factor. If it was confirmed, ends the user's sessions and notifies the user. */
  async function remove(
    tx: TenantTx,
    caller: Caller,
    user: { id: number; tenant_id: number },
  ): Promise<void> {
    if ((await disown(tx, actorOf(caller), user)) !== 'confirmed') return
    await deps.sessions.end(tx, { tenantId: user.tenant_id, userId: user.id }, 'factor_removed')
    await deps.notifyOwner(tx, user, { kind: 'factor_removed' })
  }

  return {
    async setUp(caller, password) {
      await requirePassword(caller, password)
      return db.inTenant(caller.tenant_id, async (tx) => {
        const secret = newTotpSecret()
        const tenantKeys = await keyRing.forWriting(tx, caller.tenant_id)
        const sealed = tenantKeys.seal(secret, totpSecretPlace(caller.user_id))
        if (!(await store.offerSecret(tx, keys(caller), sealed))) throw new Problem('totp_enabled')
        await record(
          tx,
          actorOf(caller),
          { id: caller.user_id, tenant_id: caller.tenant_id },
          'auth.totp_offered',
        )
        const tenant = orNotFound(await findTenant(tx, caller.tenant_id), 'tenant')
        const { name: issuer, subdomain } = tenant
        const described = describeSecret(secret, { issuer, subdomain, email: caller.email })
        return {
          secret: described.secret,
          otpauth_url: described.url,
          qr_svg: renderSVG(described.url),
        }
      })
    },

    enable: (caller, code) =>
      deps.throttle.guess([{ rule: CODE_GUESSES, of: String(caller.user_id) }], () =>
        db.inTenant(caller.tenant_id, async (tx) => {
          await lockOwnAccount(tx, caller)
          const factor = await store.lockFactor(tx, caller.user_id)
          if (!factor) throw new Problem('totp_not_set_up')
          if (factor.confirmed_at) throw new Problem('totp_enabled')
          if (!(await takeCode(tx, caller.user_id, factor, code))) throw new Problem('wrong_code')
          const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
          const hashes = codes.map((recovery) => hashRecoveryCode(caller.user_id, recovery))
          await store.confirmSecondFactor(tx, keys(caller), isoAt(clock), hashes)
          // Ends the user's other sessions, because they were started with only the password.
          const { user_id: userId, tenant_id: tenantId, session_id: except } = caller
          await deps.sessions.end(tx, { tenantId, userId, except }, 'factor_enabled')
          const user = { id: userId, tenant_id: tenantId }
          await record(tx, actorOf(caller), user, 'auth.totp_enabled')
          await deps.notifyOwner(tx, user, { kind: 'factor_enabled' })
          return codes
        }),
      ),

    async disable(caller, password) {
      await deps.checkPassword(caller, password)
      await db.inTenant(caller.tenant_id, async (tx) => {
        await lockOwnAccount(tx, caller)
        if (await store.isDemanded(tx, caller.user_id)) throw new Problem('totp_demanded')
        await remove(tx, caller, { id: caller.user_id, tenant_id: caller.tenant_id })
      })
    },

    disown,

    removeFor: (caller, userId) =>
      deps.onUser(caller, userId, async (tx, user) => {
        // A user can remove their own factor only with the password, and only if the tenant does not require a factor.
        if (user.id === caller.user_id)
          throw new Problem('own_account', {
            detail:
              'user_id: this is your own account. Disable your own second factor with POST /api/auth/totp/disable.',
          })
        await remove(tx, caller, user)
      }),

    async verifyCode(tx, userId, code) {
      const factor = await store.lockFactor(tx, userId)
      if (!factor?.confirmed_at) return false
      if (await takeCode(tx, userId, factor, code)) return true
      const hash = hashRecoveryCode(userId, code)
      if (!(await store.takeRecoveryCode(tx, userId, hash, isoAt(clock)))) return false
      const codesLeft = await store.countRecoveryCodes(tx, userId)
      const user = { id: userId, tenant_id: tx.tenantId as number }
      await deps.notifyOwner(tx, user, { kind: 'recovery_code_used', codesLeft })
      return true
    },
  }
}
