/** The second factor: enrolling it, asking for it at sign-in, taking it away (RFC 6238, decisions §3). */
import { renderSVG } from 'uqr'
import type { Clock } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Admin, Caller } from '../../../platform/access/index.ts'
import type { KeyRing } from '../../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { actorOf, append } from '../../../platform/journal/index.ts'
import type { Throttle, ThrottleRule } from '../../../platform/throttle/index.ts'
import type { CheckPassword, OnUser } from '../../users/index.ts'
import type { TotpSetup } from '../auth.schema.ts'
import {
  describeSecret,
  hashRecoveryCode,
  newRecoveryCode,
  newSecret,
  RECOVERY_CODES,
  stepOf,
} from './codes.ts'
import * as store from './second-factor.store.ts'

const BY_USER: ThrottleRule = { name: 'totp', free: 5, first: 5, longest: 900 }

export interface SecondFactorDeps {
  db: Scopes
  clock: Clock
  keyRing: KeyRing
  throttle: Throttle
  checkPassword: CheckPassword
  onUser: OnUser
}

export interface SecondFactor {
  /** Offers a secret to enrol. @throws Problem 409 when one is enrolled */
  setUp(caller: Caller): Promise<TotpSetup>
  /** Enrols the offered secret. Answers the recovery codes, which are never shown again. */
  enable(caller: Caller, code: string): Promise<string[]>
  /** @throws Problem 403 for a wrong password, 409 when the tenant demands the factor */
  disable(caller: Caller, password: string): Promise<void>
  /** Takes another's factor away, as they have lost it. */
  removeFor(caller: Admin, userId: number): Promise<void>
  /** Takes a code or a recovery code of a user who signs in; each is good once. */
  take(tx: TenantTx, userId: number, code: string): Promise<boolean>
}

export function secondFactorService(deps: SecondFactorDeps): SecondFactor {
  const { db, clock, keyRing } = deps
  const iso = () => new Date(clock.now()).toISOString()
  const keys = (caller: Caller) => ({ user_id: caller.user_id, tenant_id: caller.tenant_id })

  async function takeCode(tx: TenantTx, userId: number, factor: store.Factor, code: string) {
    const tenantId = tx.tenantId as number
    const secret = await keyRing.open(tx, tenantId, factor.sealed_secret, placeOf(userId))
    const step = stepOf(secret, code, clock.now())
    return step !== null && (await store.takeStep(tx, userId, step))
  }

  function record(
    tx: TenantTx,
    caller: Caller,
    user: { id: number; tenant_id: number },
    action: `auth.totp_${'offered' | 'enabled' | 'disabled'}`,
  ) {
    tx.stale(`user:${user.id}`)
    return append(tx, actorOf(caller), {
      action,
      tenant_id: user.tenant_id,
      resource_type: 'user',
      resource_id: user.id,
    })
  }

  return {
    setUp: (caller) =>
      db.inTenant(caller.tenant_id, async (tx) => {
        const secret = newSecret()
        const place = placeOf(caller.user_id)
        const sealed = await keyRing.seal(tx, caller.tenant_id, secret, place)
        if (!(await store.offerSecret(tx, keys(caller), sealed))) throw new Problem('totp_enabled')
        await record(
          tx,
          caller,
          { id: caller.user_id, tenant_id: caller.tenant_id },
          'auth.totp_offered',
        )
        const described = describeSecret(secret, caller.email)
        return {
          secret: described.secret,
          otpauth_url: described.url,
          qr_svg: renderSVG(described.url),
        }
      }),

    enable: (caller, code) =>
      deps.throttle.guess([{ rule: BY_USER, of: String(caller.user_id) }], () =>
        db.inTenant(caller.tenant_id, async (tx) => {
          const factor = await store.lockFactor(tx, caller.user_id)
          if (!factor) throw new Problem('totp_not_set_up')
          if (factor.confirmed_at) throw new Problem('totp_enabled')
          if (!(await takeCode(tx, caller.user_id, factor, code))) throw new Problem('wrong_code')
          const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode)
          const hashes = codes.map((recovery) => hashRecoveryCode(caller.user_id, recovery))
          await store.confirm(tx, keys(caller), iso(), hashes)
          await store.freeSessions(tx, caller.user_id)
          await record(
            tx,
            caller,
            { id: caller.user_id, tenant_id: caller.tenant_id },
            'auth.totp_enabled',
          )
          return codes
        }),
      ),

    async disable(caller, password) {
      await deps.checkPassword(caller, password)
      await db.inTenant(caller.tenant_id, async (tx) => {
        if (await store.isDemanded(tx, caller.user_id)) throw new Problem('totp_demanded')
        if (!(await store.remove(tx, keys(caller)))) return
        await record(
          tx,
          caller,
          { id: caller.user_id, tenant_id: caller.tenant_id },
          'auth.totp_disabled',
        )
      })
    },

    removeFor: (caller, userId) =>
      deps.onUser(caller, userId, async (tx, user) => {
        // One's own is taken away with the password, and only where the tenant lets it.
        if (user.id === caller.user_id)
          throw new Problem('own_account', {
            detail: 'user_id: disable your own second factor with POST /api/auth/totp/disable',
          })
        if (!(await store.remove(tx, { user_id: user.id, tenant_id: user.tenant_id }))) return
        await record(tx, caller, user, 'auth.totp_disabled')
      }),

    async take(tx, userId, code) {
      const factor = await store.lockFactor(tx, userId)
      if (!factor?.confirmed_at) return false
      if (await takeCode(tx, userId, factor, code)) return true
      return store.takeRecoveryCode(tx, userId, hashRecoveryCode(userId, code), iso())
    },
  }
}

const placeOf = (userId: number) => `second_factors.secret:${userId}`
