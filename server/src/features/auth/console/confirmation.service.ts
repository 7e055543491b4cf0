/** Confirms a console session with the password before an act that cannot be undone. All nodes see it at once. */
import { type Clock, isoAt, MINUTE } from '../../../lib/clock.ts'
import { Problem } from '../../../lib/problems.ts'
import type { Caller } from '../../../platform/access/index.ts'
import type { Scopes, TenantTx } from '../../../platform/db/index.ts'
import { actorOf, append } from '../../../platform/journal/index.ts'
import type { Throttle } from '../../../platform/throttle/index.ts'
import type { CheckPassword } from '../../users/index.ts'
import { lockAccount } from '../accounts/accounts.store.ts'
import { CODE_GUESSES, type SecondFactor } from '../second-factor/second-factor.service.ts'
import { requireSignedIn, sessionEnded, sessionEntry } from '../sessions/ending.ts'
import type { Confirmation, ConfirmationRequest } from './console.schema.ts'
import * as store from './console.store.ts'

/** The time after a confirmation during which a console session can perform final acts. */
const CONFIRMED_FOR = 5 * MINUTE

export interface ConfirmationDeps {
  db: Scopes
  clock: Clock
  throttle: Throttle
  checkPassword: CheckPassword
  secondFactor: Pick<SecondFactor, 'verifyCode'>
}

export interface Confirmations {
  /**
   * Marks the caller's console session as confirmed.
   * @throws Problem 403 for a wrong password or code, 401 `totp_required` for a missing code, 409 for a session that is
   *   not one of the console, 429 after too many attempts
   */
  confirm(caller: Caller, request: ConfirmationRequest): Promise<Confirmation>
  /** Accepts confirmed sessions, and all sessions that are not of the console. @throws Problem 403 otherwise */
  requireConfirmed(caller: Caller): Promise<void>
}

export function confirmations(deps: ConfirmationDeps): Confirmations {
  const { db, clock, throttle } = deps

  async function sessionOf(caller: Caller) {
    const find = (tx: TenantTx) => store.findConfirmation(tx, caller)
    const found = await db.inTenant(caller.tenant_id, find, 'read')
    if (!found) throw sessionEnded()
    return found
  }

  /** Verifies the code of a user with a second factor, and uses it up. */
  async function takeCode(tx: TenantTx, caller: Caller, code: string | undefined): Promise<void> {
    if (!code) throw new Problem('totp_required')
    if (!(await deps.secondFactor.verifyCode(tx, caller.user_id, code)))
      throw new Problem('wrong_code')
  }

  function confirmWith(caller: Caller, code: string | undefined): Promise<Confirmation> {
    return db.inTenant(caller.tenant_id, async (tx) => {
      // A new password or factor takes the same lock, so neither can change before the commit.
      const account = await lockAccount(tx, { id: caller.user_id, tenant_id: caller.tenant_id })
      await requireSignedIn(tx, caller)
      if (account?.totp_enabled) await takeCode(tx, caller, code)
      const confirmed_until = isoAt(clock, CONFIRMED_FOR)
      await store.confirmSession(tx, caller, confirmed_until)
      const { tenant_id, session_id } = caller
      await append(
        tx,
        actorOf(caller),
        sessionEntry('auth.session_confirmed', tenant_id, session_id),
      )
      return { confirmed_until }
    })
  }

  return {
    async confirm(caller, { password, totp_code }) {
      const { is_console } = await sessionOf(caller)
      if (!is_console) throw new Problem('console_session_required')
      await deps.checkPassword(caller, password)
      const code = totp_code || undefined
      const confirm = () => confirmWith(caller, code)
      if (code === undefined) return confirm()
      return throttle.guess([{ rule: CODE_GUESSES, of: String(caller.user_id) }], confirm)
    },

    async requireConfirmed(caller) {
      const { is_console, confirmed_until } = await sessionOf(caller)
      const isConfirmed = confirmed_until !== null && Date.parse(confirmed_until) > clock.now()
      if (is_console && !isConfirmed) throw new Problem('reauth_required')
    },
  }
}
