/** Proving to be the owner of a session, by the password of the account. */
import { Problem } from '../../lib/problems.ts'
import type { Caller } from '../../platform/access/index.ts'
import { type Passwords, partyOf } from '../../platform/crypto/index.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Throttle, ThrottleRule } from '../../platform/throttle/index.ts'
import * as store from './users.store.ts'

/**
 * Returns the hash of the caller's password.
 * @throws Problem 403 when it is not the caller's password, 429 after too many
 */
export type CheckPassword = (caller: Caller, password: string) => Promise<string>

/** Guesses at one's own password, by whoever holds the session. */
const BY_USER: ThrottleRule = { name: 'own password', free: 5, first: 5, longest: 900 }

export function passwordCheck({
  db,
  passwords,
  throttle,
}: {
  db: Scopes
  passwords: Passwords
  throttle: Throttle
}): CheckPassword {
  return (caller, password) =>
    throttle.guess([{ rule: BY_USER, of: String(caller.user_id) }], async () => {
      const { user_id: id, tenant_id } = caller
      const stored = await db.inTenant(tenant_id, (tx) => store.findPasswordHash(tx, id), 'read')
      if (!stored || !(await passwords.verify(stored, password, partyOf(caller))))
        throw new Problem('wrong_password')
      return stored
    })
}
