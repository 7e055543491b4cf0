/** Acting on another user, as their administrator may. */
import { orNotFound, Problem } from '../../lib/problems.ts'
import type { Admin, RequireSignedIn } from '../../platform/access/index.ts'
import { forCaller, type Scopes, type TenantTx } from '../../platform/db/index.ts'
import { countOperators, findTenant, lockOperators } from '../tenants/index.ts'
import type { User } from './users.schema.ts'
import * as store from './users.store.ts'

/**
 * Runs `work` on a user whom the caller may act on, locked until the transaction ends.
 * @throws Problem 404, 403 for an admin who acts on a superadmin, 401 where the caller's session has ended meanwhile
 */
export type OnUser = <T>(
  caller: Admin,
  id: number,
  work: (tx: TenantTx, target: User, otherOperators: number) => Promise<T>,
) => Promise<T>

/**
 * Runs `work` on a user whom the caller may act on, in a transaction that only reads.
 * @throws Problem 404, or 403 for an admin who asks about a superadmin
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
      // Always in this order: of two superadmins who demote each other one waits, and then sees it.
      if (caller.role === 'superadmin') await lockOperators(tx)
      const operators = caller.role === 'superadmin' ? await countOperators(tx, { userId: id }) : 0
      const [found] = await Promise.all([store.lockUser(tx, id), requireSignedIn(tx, caller)])
      const target = requireTarget(caller, found)
      // The lock may have waited for the deletion of their tenant; the caller's own was looked at.
      if (target.tenant_id !== caller.tenant_id)
        orNotFound(await findTenant(tx, target.tenant_id), 'user')
      return work(tx, target, operators)
    })
}

/** @throws Problem 404, or 403 for an admin who acts on a superadmin */
export function requireTarget(caller: Admin, found: User | undefined): User {
  const target = orNotFound(found, 'user')
  if (target.role === 'superadmin' && caller.role !== 'superadmin')
    throw new Problem('superadmin_required', {
      detail: 'Only a superadmin may act on a superadmin',
    })
  return target
}
