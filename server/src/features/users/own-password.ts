/** Verifies that a caller knows the password of their own account. */
import { Problem } from '../../lib/problems.ts'
import type { Caller } from '../../platform/access/index.ts'
import { type Passwords, partyOf } from '../../platform/crypto/index.ts'
import type { Scopes } from '../../platform/db/index.ts'
import type { Throttle, ThrottleRule } from '../../platform/throttle/index.ts'
import * as store from './users.store.ts'

/** Verifies the caller's own password and returns its hash. @throws Problem 403 if wrong, 429 after too many tries */
export type CheckPassword = (caller: Caller, password: string) => Promise<string>

/** Limits how often a caller may guess the password of their own account. */
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
