/** Runs operations of an administrator on another user, after checking that the administrator may act on the user. */
import { orNotFound, Problem } from '../../lib/problems.ts'
import type { Admin, RequireSignedIn } from '../../platform/access/index.ts'
import { forCaller, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import { countOperators, findTenant, lockOperators } from '../tenants/index.ts'
import type { User } from './users.schema.ts'
import * as store from './users.store.ts'

/**
 * Runs `work` on a user whom the caller may act on. The user's row is locked until the transaction ends.
 * @throws Problem 404 for an unknown user, 403 for an admin who acts on a superadmin, 401 if the caller's session has
 *   ended
 */
export type OnUser = <T>(
  caller: Admin,
  id: number,
  work: (tx: TenantTx, target: User, otherOperators: number) => Promise<T>,
) => Promise<T>

/**
 * Runs `work` on a user whom the caller may act on, in a read-only transaction.
 * @throws Problem 404 for an unknown user, 403 for an admin who requests a superadmin
 */
export type ReadUser = <T>(
  caller: Admin,
  id: number,
  work: (tx: TenantTx, user: User) => Promise<T>,
) => Promise<T>

export function readingUsers(db: Scopes): ReadUser {
  return (caller, id, work) =>
    forCaller(
      db,
      caller,
      async (tx) => work(tx, requireTarget(caller, await store.findUser(tx, id))),
      'read',
    )
}

export function actingOn(db: Scopes, requireSignedIn: RequireSignedIn): OnUser {
  return (caller, id, work) =>
    forCaller(db, caller, async (tx) => {
      // Locks all superadmins before counting them. If two demote each other, the second change sees the first.
      if (caller.role === 'superadmin') await lockOperators(tx)
      const operators = caller.role === 'superadmin' ? await countOperators(tx, { userId: id }) : 0
      const [found] = await Promise.all([store.lockUser(tx, id), requireSignedIn(tx, caller)])
      const target = requireTarget(caller, found)
      // The user's tenant may have been deleted while this transaction waited for the lock. `requireSignedIn` has
      // already checked the caller's own tenant.
      if (target.tenant_id !== caller.tenant_id)
        orNotFound(await findTenant(tx, target.tenant_id), 'user')
      return work(tx, target, operators)
    })
}

/** Returns the user if found and allowed. @throws Problem 404 if not found, 403 for an admin acting on a superadmin */
export function requireTarget(caller: Admin, found: User | undefined): User {
  const target = orNotFound(found, 'user')
  if (target.role === 'superadmin' && caller.role !== 'superadmin')
    throw new Problem('superadmin_required', {
      detail: 'Only a superadmin can view or change a superadmin.',
    })
  return target
}
