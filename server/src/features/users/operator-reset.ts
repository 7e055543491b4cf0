/** Restores a superadmin's access from the command line, if no other superadmin can do so (docs/runbooks). */
import { randomBytes } from 'node:crypto'
import { foldEmail } from '../../lib/email.ts'
import { StartupError } from '../../lib/startup-error.ts'
import type { Passwords } from '../../platform/crypto/index.ts'
import type { Scopes, TenantTx } from '../../platform/db/index.ts'
import { append, changesBetween, journalEntry, SYSTEM } from '../../platform/journal/index.ts'
import { assignPassword, findOperator, setActive } from './users.store.ts'

export interface OperatorResetDeps {
  db: Scopes
  passwords: Passwords
  /** Ends the sessions of a user whose password was set, and invalidates the user's mailed links. */
  passwordSet: (tx: TenantTx, user: { id: number; tenant_id: number }) => Promise<void>
}

/**
 * Sets a generated password for a superadmin and unblocks the account. The password must be changed at the next
 * sign-in.
 * @param also an additional function to run in the same transaction
 * @returns the generated password
 * @throws StartupError if no superadmin has this address
 */
export type ResetOperator = (
  email: string,
  also?: (tx: TenantTx, user: { id: number; tenant_id: number }) => Promise<unknown>,
) => Promise<string>

export function resetsOperators({ db, passwords, passwordSet }: OperatorResetDeps): ResetOperator {
  return async (email, also) => {
    const password = randomBytes(12).toString('base64url')
    const hash = await passwords.hash(password, 'command line')
    await db.acrossTenants(async (tx) => {
      const before = await findOperator(tx, foldEmail(email))
      if (!before) throw new StartupError(`No superadmin has the e-mail address ${email}.`)
      await setActive(tx, before.id, true)
      const after = await assignPassword(tx, before.id, hash, true)
      await also?.(tx, before)
      await passwordSet(tx, before)
      tx.invalidate(`user:${before.id}`)
      await append(tx, SYSTEM, {
        ...journalEntry('user.password_changed', 'user', before),
        changes: {
          ...changesBetween(before, after ?? before, ['is_active', 'must_change_password']),
          by: 'command line',
        },
      })
    })
    return password
  }
}
