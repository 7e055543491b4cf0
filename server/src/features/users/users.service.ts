/** The rules of users. Each command is one transaction and one journal entry. */

import type { Cursor } from '../../lib/cursor.ts'
import { foldEmail } from '../../lib/email.ts'
import { type Page, toPage } from '../../lib/page.ts'
import { invalidValue, orNotFound, Problem, type Refuse } from '../../lib/problems.ts'
import type { Role } from '../../lib/roles.ts'
import {
  type Admin,
  type Auditor,
  type Caller,
  type RequireSignedIn,
  requireOwnTenant,
} from '../../platform/access/index.ts'
import {
  assignerOf,
  type Passwords,
  partyOf,
  refuseWeakPassword,
  weaknessOf,
} from '../../platform/crypto/index.ts'
import {
  forCaller,
  inScope,
  listMode,
  type Scopes,
  scopeOf,
  type TenantTx,
} from '../../platform/db/index.ts'
import { actorOf, differing } from '../../platform/journal/index.ts'
import type { Throttle } from '../../platform/throttle/index.ts'
import { findDepartment, leaveHeadless } from '../departments/index.ts'
import { findTenant, type KnownTenant, ofNamedTenant, shareTenant } from '../tenants/index.ts'
import { actingOn, requireTarget } from './acting.ts'
import { passwordCheck } from './own-password.ts'
import { appendChange } from './users.journal.ts'
import {
  type NewUser,
  type OwnPasswordChange,
  type PasswordReset,
  type User,
  type UserChange,
  type UserQuery,
  userList,
} from './users.schema.ts'
import * as store from './users.store.ts'

/** Ends a user's sessions within the transaction; handed in, as sessions know users. */
export type EndUserSessions = (
  tx: TenantTx,
  which: { tenantId: number; userId: number },
  reason: string,
) => Promise<void>

/** Ends what others keep of a user who is about to be deleted; handed in, as those know users. */
export type UserLeaves = (
  tx: TenantTx,
  by: Admin,
  user: { id: number; tenant_id: number },
) => Promise<void>

export interface UsersDeps {
  db: Scopes
  passwords: Passwords
  throttle: Throttle
  endSessions: EndUserSessions
  /** Ends sessions and voids links of a user whose password was set; handed in, as those know users. */
  passwordSet: (tx: TenantTx, user: { id: number; tenant_id: number }) => Promise<void>
  accountMails: AccountMails
  leaves: UserLeaves
  requireSignedIn: RequireSignedIn
}

type UserKey = Pick<User, 'id' | 'tenant_id'>

/** The mails that administrators have sent to users; handed in, as their links know users. */
export interface AccountMails {
  /** @throws Problem 429 after too many to the mailbox */
  countInvitation(email: string): Promise<void>
  /** Takes the mailbox's next mail with a link to confirm it; false where it got too many. */
  takeVerification(email: string): Promise<boolean>
  /** Sends the first link to a user: to choose a password where they have none, else to confirm their address. */
  welcome(tx: TenantTx, by: Admin, user: UserKey): Promise<void>
  invite(tx: TenantTx, by: Admin, user: UserKey): Promise<void>
  /** Tells the user of a pending account whether their registration was approved. */
  tellApplicant(tx: TenantTx, user: UserKey, decision: 'approved' | 'refused'): Promise<void>
  /** Ends sessions and links, and notifies both addresses. */
  addressChanged(tx: TenantTx, by: Admin, former: User, isMailed: boolean): Promise<void>
}

/** What a command on a user refers to, who may be yet to be made. */
export interface UserReferences {
  user_id?: number
  tenant_id?: number
  department_id?: number | null
  password?: string
}

export interface Users {
  /** Refuses a department that the user's tenant does not have, and a password too like their address. */
  checkReferences(caller: Admin, input: UserReferences, refuse: Refuse): Promise<void>
  list(caller: Auditor, query: UserQuery, from: Cursor | undefined): Promise<Page<User>>
  get(caller: Auditor, id: number): Promise<User>
  create(caller: Admin, user: NewUser): Promise<User>
  /** Sends a user another link to choose a password. @throws Problem 409 once their address is confirmed */
  invite(caller: Admin, id: number): Promise<User>
  update(caller: Admin, id: number, change: UserChange): Promise<User>
  delete(caller: Admin, id: number): Promise<void>
  block(caller: Admin, id: number): Promise<User>
  unblock(caller: Admin, id: number): Promise<User>
  changeRole(caller: Admin, id: number, role: Role): Promise<User>
  /** Sets another's password and ends their sessions. */
  resetPassword(caller: Admin, id: number, reset: PasswordReset): Promise<void>
  /** Sets one's own password, knowing the current one, and ends all one's sessions. */
  changeOwnPassword(caller: Caller, change: OwnPasswordChange): Promise<void>
}

export function usersService(deps: UsersDeps): Users {
  const { db, passwords, endSessions, accountMails, requireSignedIn } = deps

  const onUser = actingOn(db, requireSignedIn)
  const checkPassword = passwordCheck(deps)

  /** Finds a user before the costly part of a command, so that made-up ids cost nothing. */
  const findFirst = (caller: Caller, id: number) =>
    forCaller(db, caller, (tx) => store.findUser(tx, id), 'read')

  /** Takes the mail to a new address. Returns false where there is none, or its mailbox got too many. */
  async function takeAddress(caller: Admin, id: number, change: UserChange): Promise<boolean> {
    if (change.email === undefined) return false
    const user = requireTarget(caller, await findFirst(caller, id))
    return isNewAddress(user, change) && accountMails.takeVerification(change.email)
  }

  return {
    checkReferences: (caller, { user_id, tenant_id, department_id, password }, refuse) =>
      forCaller(
        db,
        caller,
        async (tx) => {
          const user = user_id === undefined ? undefined : await store.findUser(tx, user_id)
          if (user) refuse(['body', 'password'], weaknessOf(password, user.email))
          const tenantId = user_id === undefined ? (tenant_id ?? caller.tenant_id) : user?.tenant_id
          // Nothing is said of a tenant that is not there, or is not the caller's.
          if (tenantId && (await findTenant(tx, tenantId)))
            refuse(['body', 'department_id'], await departmentIssue(tx, tenantId, department_id))
        },
        'read',
      ),

    async list(caller, query, from) {
      const asked = { list: userList, caller, query, from }
      const scope = scopeOf(caller, query.tenant_id)
      const find = ofNamedTenant(asked, store.listUsers)
      return toPage(asked, await inScope(db, scope, find, listMode(query)))
    },

    get: (caller, id) =>
      forCaller(db, caller, async (tx) => orNotFound(await store.findUser(tx, id), 'user'), 'read'),

    create: createsUsers(deps),

    async invite(caller, id) {
      const asked = requireTarget(caller, await findFirst(caller, id))
      refuseConfirmed(asked)
      await accountMails.countInvitation(asked.email)
      return onUser(caller, id, async (tx, user) => {
        refuseConfirmed(user)
        await accountMails.invite(tx, caller, user)
        return user
      })
    },

    async update(caller, id, change) {
      const isMailed = await takeAddress(caller, id, change)
      return onUser(caller, id, async (tx, before) => {
        await requireDepartment(tx, before.tenant_id, change.department_id)
        if (differing(before, change).length === 0) return before
        const isMoved = isNewAddress(before, change)
        const after = orNotFound(await store.updateUser(tx, id, change, isMoved), 'user')
        await appendChange(tx, caller, 'user.updated', before, after)
        if (isMoved) await accountMails.addressChanged(tx, caller, before, isMailed)
        return after
      })
    },

    delete: (caller, id) =>
      onUser(caller, id, async (tx, target, otherOperators) => {
        refuseLosing(caller, target, otherOperators)
        await deps.leaves(tx, caller, target)
        await leaveHeadless(tx, actorOf(caller), target)
        if (target.status === 'pending') await accountMails.tellApplicant(tx, target, 'refused')
        orNotFound(await store.deleteUser(tx, id), 'user')
        // Nobody attends to their patients now, by the foreign key.
        tx.invalidate(`patients:${target.tenant_id}`)
        await appendChange(tx, caller, 'user.deleted', target, null)
      }),

    block: (caller, id) =>
      onUser(caller, id, async (tx, before, otherOperators) => {
        refuseLosing(caller, before, otherOperators)
        await endSessions(tx, keysOf(before), 'blocked')
        if (before.status === 'blocked') return before
        const after = orNotFound(await store.setActive(tx, id, false), 'user')
        await appendChange(tx, caller, 'user.blocked', before, after)
        return after
      }),

    unblock: (caller, id) =>
      onUser(caller, id, async (tx, before) => {
        if (before.is_active) return before
        const after = orNotFound(await store.setActive(tx, id, true), 'user')
        await appendChange(tx, caller, 'user.unblocked', before, after)
        if (before.status === 'pending') await accountMails.tellApplicant(tx, after, 'approved')
        return after
      }),

    changeRole: (caller, id, role) =>
      onUser(caller, id, async (tx, before, otherOperators) => {
        requireSuperadminFor(caller, role)
        if (before.role === role) return before
        refuseLosing(caller, before, otherOperators)
        const after = orNotFound(await store.updateUser(tx, id, { role }), 'user')
        await endSessions(tx, keysOf(after), 'role_changed')
        await appendChange(tx, caller, 'user.role_changed', before, after)
        return after
      }),

    async resetPassword(caller, id, { password, must_change_password }) {
      if (id === caller.user_id)
        throw new Problem('own_account', {
          detail: 'user_id: change your own password with PUT /api/users/me/password',
        })
      // Looked up before the costly hash, so that made-up ids keep no sign-in waiting.
      requireTarget(caller, await findFirst(caller, id))
      const password_hash = await passwords.hash(password, assignerOf(caller))
      await onUser(caller, id, async (tx, target) => {
        refuseWeakPassword(password, target.email, ['body', 'password'])
        const set = await store.assignPassword(tx, id, password_hash, must_change_password)
        const after = orNotFound(set, 'user')
        await deps.passwordSet(tx, after)
        await appendChange(tx, caller, 'user.password_changed', target, after, BY_OTHERS)
      })
    },

    async changeOwnPassword(caller, change) {
      const { user_id: id, tenant_id } = caller
      const current = await checkPassword(caller, change.current_password)
      const fresh = await passwords.hash(change.new_password, partyOf(caller))
      await db.inTenant(tenant_id, async (tx) => {
        const before = await store.findUser(tx, id)
        const after = await store.replacePassword(tx, id, current, fresh)
        if (!before || !after) throw new Problem('conflict')
        await requireSignedIn(tx, caller)
        await deps.passwordSet(tx, after)
        await appendChange(tx, caller, 'user.password_changed', before, after, { by: 'user' })
      })
    },
  }
}

/** Creates users, whom a first mail welcomes. */
function createsUsers({
  db,
  passwords,
  accountMails,
  requireSignedIn,
}: UsersDeps): Users['create'] {
  /** Takes the first mail to a new user; returns whether it may be sent. @throws Problem 429 for an invitation */
  async function takeWelcome({ email, password }: NewUser): Promise<boolean> {
    if (password !== undefined) return accountMails.takeVerification(email)
    await accountMails.countInvitation(email)
    return true
  }

  return async (caller, user) => {
    const { password, tenant_id, ...fields } = user
    requireOwnTenant(caller, tenant_id)
    const tenantId = tenant_id ?? caller.tenant_id
    requireSuperadminFor(caller, user.role)
    const requirePlace = async (tx: TenantTx, tenant: KnownTenant | undefined) => {
      orNotFound(tenant, 'tenant')
      await requireDepartment(tx, tenantId, fields.department_id)
    }
    // What the database alone refuses costs no hash; who comes in between meets the constraint.
    await forCaller(
      db,
      caller,
      async (tx) => {
        await requirePlace(tx, await findTenant(tx, tenantId))
        if (await store.isEmailTaken(tx, tenantId, user.email)) throw new Problem('email_taken')
      },
      'read',
    )
    const isMailed = await takeWelcome(user)
    const password_hash =
      password === undefined ? null : await passwords.hash(password, assignerOf(caller))
    return forCaller(db, caller, async (tx) => {
      const [tenant] = await Promise.all([shareTenant(tx, tenantId), requireSignedIn(tx, caller)])
      await requirePlace(tx, tenant)
      const created = await store.insertUser(tx, {
        department_id: null,
        can_see_all_patients: false,
        ...fields,
        tenant_id: tenantId,
        password_hash,
        email_verified_at: null,
        is_vouched: true,
      })
      await appendChange(tx, caller, 'user.created', null, created)
      if (isMailed) await accountMails.welcome(tx, caller, created)
      return created
    })
  }
}

/** Whether the change gives the user another mailbox, and not only another spelling. */
const isNewAddress = (user: User, { email }: UserChange) =>
  email !== undefined && foldEmail(email) !== foldEmail(user.email)

/** @throws Problem 409 where the user can request a reset link */
function refuseConfirmed(user: User): void {
  if (user.email_verified) throw new Problem('address_confirmed')
}

/** The journal's note on a password that an administrator chose. */
const BY_OTHERS = { by: 'administrator' }

const keysOf = ({ id, tenant_id }: User) => ({ tenantId: tenant_id, userId: id })

function requireSuperadminFor(caller: Caller, role: Role): void {
  if (role === 'superadmin' && caller.role !== 'superadmin')
    throw new Problem('superadmin_required', { detail: 'Only a superadmin may make a superadmin' })
}

/** Nobody takes away their own account, nor the last active superadmin (decisions §2). */
function refuseLosing(caller: Caller, target: User, otherOperators: number): void {
  if (target.id === caller.user_id) throw new Problem('own_account')
  if (target.role === 'superadmin' && otherOperators === 0) throw new Problem('last_superadmin')
}

/** @throws InvalidInput when the tenant has no such department */
export async function requireDepartment(
  tx: TenantTx,
  tenantId: number,
  id?: number | null,
): Promise<void> {
  const issue = await departmentIssue(tx, tenantId, id)
  if (issue) throw invalidValue(['body', 'department_id'], issue)
}

const NO_DEPARTMENT = 'the tenant has no such department'

/** What is wrong with the department that a user is to be in; undefined when nothing is. */
export async function departmentIssue(
  tx: TenantTx,
  tenantId: number,
  id?: number | null,
): Promise<string | undefined> {
  if (!id) return undefined
  return (await findDepartment(tx, id))?.tenant_id === tenantId ? undefined : NO_DEPARTMENT
}
