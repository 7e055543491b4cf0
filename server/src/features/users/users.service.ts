/** The business rules of users. Each command runs in one transaction and writes one journal entry. */

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
import { actingOn, requireTarget } from './acting-on-users.ts'
import { passwordCheck } from './own-password.ts'
import { appendUserChange } from './users.journal.ts'
import {
  type NewUser,
  type OwnPasswordChange,
  type PasswordReset,
  type StatusCondition,
  type User,
  type UserChange,
  type UserQuery,
  userList,
} from './users.schema.ts'
import * as store from './users.store.ts'

/** Ends a user's sessions within the transaction. Passed in by the auth feature, which imports this feature. */
export type EndUserSessions = (
  tx: TenantTx,
  which: { tenantId: number; userId: number },
  reason: string,
) => Promise<void>

/** Removes data of other features before a user is deleted. Passed in by those features, which import this feature. */
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
  /** Ends sessions and invalidates mailed links after the password was set. Passed in by the auth feature. */
  passwordSet: (tx: TenantTx, user: { id: number; tenant_id: number }) => Promise<void>
  accountMails: AccountMails
  leaves: UserLeaves
  requireSignedIn: RequireSignedIn
}

type UserKey = Pick<User, 'id' | 'tenant_id'>

/** Sends users the mails that an administrator's action causes. Passed in by the auth feature. */
export interface AccountMails {
  /** Counts an invitation against the limit of the mailbox. @throws Problem 429 after too many invitations */
  countInvitation(email: string): Promise<void>
  /** Counts a confirmation mail against the limit of the mailbox. Returns false if the limit is reached. */
  takeVerification(email: string): Promise<boolean>
  /** Sends a new user a link to confirm their address, or to choose a password if they have none. */
  welcome(tx: TenantTx, by: Admin, user: UserKey): Promise<void>
  invite(tx: TenantTx, by: Admin, user: UserKey): Promise<void>
  /** Notifies the applicant whether the registration of the pending account was approved. */
  notifyApplicant(tx: TenantTx, user: UserKey, decision: 'approved' | 'refused'): Promise<void>
  /** Ends sessions, invalidates mailed links, notifies the former address, and mails the new one if `isMailed`. */
  addressChanged(tx: TenantTx, by: Admin, former: User, isMailed: boolean): Promise<void>
}

/** The fields of a command that are checked against other data. `user_id` is absent for a new user. */
export interface UserReferences {
  user_id?: number
  tenant_id?: number
  department_id?: number | null
  password?: string
}

export interface Users {
  /** Calls `refuse` for an unknown department, or for a password that is too similar to the e-mail address. */
  checkReferences(caller: Admin, input: UserReferences, refuse: Refuse): Promise<void>
  list(caller: Auditor, query: UserQuery, from: Cursor | undefined): Promise<Page<User>>
  get(caller: Auditor, id: number): Promise<User>
  create(caller: Admin, user: NewUser): Promise<User>
  /** Sends the user a new link to choose a password. @throws Problem 409 if the user's address is already confirmed */
  invite(caller: Admin, id: number): Promise<User>
  update(caller: Admin, id: number, change: UserChange): Promise<User>
  /** Deletes a user. @throws Problem 409 if the user's status does not match the condition */
  delete(caller: Admin, id: number, condition: StatusCondition): Promise<void>
  block(caller: Admin, id: number): Promise<User>
  /** Unblocks a user or approves a registration. @throws Problem 409 if the status does not match `condition` */
  unblock(caller: Admin, id: number, condition: StatusCondition): Promise<User>
  changeRole(caller: Admin, id: number, role: Role): Promise<User>
  /** Sets another user's password and ends that user's sessions. */
  resetPassword(caller: Admin, id: number, reset: PasswordReset): Promise<void>
  /** Changes the caller's own password and ends all their sessions. Requires the current password. */
  changeOwnPassword(caller: Caller, change: OwnPasswordChange): Promise<void>
}

export function usersService(deps: UsersDeps): Users {
  const { db, passwords, endSessions, accountMails, requireSignedIn } = deps

  const onUser = actingOn(db, requireSignedIn)
  const checkPassword = passwordCheck(deps)

  /** Finds a user before an expensive operation, so that requests with invented ids stay cheap. */
  const findFirst = (caller: Caller, id: number) =>
    forCaller(db, caller, (tx) => store.findUser(tx, id), 'read')

  /** Counts the mail to a changed address. Returns false if it is unchanged or the limit of its mailbox is reached. */
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
          // Skips an unknown or another tenant, so that the response reveals nothing about it.
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
        await appendUserChange(tx, caller, 'user.updated', before, after)
        if (isMoved) await accountMails.addressChanged(tx, caller, before, isMailed)
        return after
      })
    },

    delete: (caller, id, condition) =>
      onUser(caller, id, async (tx, target, otherOperators) => {
        requireStatus(target, condition)
        refuseLosing(caller, target, otherOperators)
        await deps.leaves(tx, caller, target)
        await leaveHeadless(tx, actorOf(caller), target)
        if (target.status === 'pending') await accountMails.notifyApplicant(tx, target, 'refused')
        orNotFound(await store.deleteUser(tx, id), 'user')
        // Notifies the caches of patients, because the foreign key has removed the user from their patients.
        tx.invalidate(`patients:${target.tenant_id}`)
        await appendUserChange(tx, caller, 'user.deleted', target, null)
      }),

    block: (caller, id) =>
      onUser(caller, id, async (tx, before, otherOperators) => {
        refuseLosing(caller, before, otherOperators)
        await endSessions(tx, keysOf(before), 'blocked')
        if (before.status === 'blocked') return before
        const after = orNotFound(await store.setActive(tx, id, false), 'user')
        await appendUserChange(tx, caller, 'user.blocked', before, after)
        return after
      }),

    unblock: (caller, id, condition) =>
      onUser(caller, id, async (tx, before) => {
        requireStatus(before, condition)
        if (before.is_active) return before
        const after = orNotFound(await store.setActive(tx, id, true), 'user')
        await appendUserChange(tx, caller, 'user.unblocked', before, after)
        if (before.status === 'pending') await accountMails.notifyApplicant(tx, after, 'approved')
        return after
      }),

    changeRole: (caller, id, role) =>
      onUser(caller, id, async (tx, before, otherOperators) => {
        requireSuperadminFor(caller, role)
        if (before.role === role) return before
        refuseLosing(caller, before, otherOperators)
        const after = orNotFound(await store.updateUser(tx, id, { role }), 'user')
        await endSessions(tx, keysOf(after), 'role_changed')
        await appendUserChange(tx, caller, 'user.role_changed', before, after)
        return after
      }),

    async resetPassword(caller, id, { password, must_change_password }) {
      if (id === caller.user_id)
        throw new Problem('own_account', {
          detail:
            'user_id: this is your own account. Change your own password with PUT /api/users/me/password.',
        })
      // Checks the user before computing the expensive hash, so that invented ids do not delay sign-ins.
      requireTarget(caller, await findFirst(caller, id))
      const password_hash = await passwords.hash(password, assignerOf(caller))
      await onUser(caller, id, async (tx, target) => {
        refuseWeakPassword(password, target.email, ['body', 'password'])
        const set = await store.assignPassword(tx, id, password_hash, must_change_password)
        const after = orNotFound(set, 'user')
        await deps.passwordSet(tx, after)
        await appendUserChange(tx, caller, 'user.password_changed', target, after, BY_OTHERS)
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
        await appendUserChange(tx, caller, 'user.password_changed', before, after, { by: 'user' })
      })
    },
  }
}

/** Returns the function that creates a user and sends a first mail. */
function createsUsers({
  db,
  passwords,
  accountMails,
  requireSignedIn,
}: UsersDeps): Users['create'] {
  /** Counts the first mail to a new user. Returns whether it may be sent. @throws Problem 429 after too many */
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
    // Runs the cheap checks before hashing. The unique constraint catches concurrent requests.
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
      await appendUserChange(tx, caller, 'user.created', null, created)
      if (isMailed) await accountMails.welcome(tx, caller, created)
      return created
    })
  }
}

/** Returns whether the change gives the user a different address, not only another spelling. */
const isNewAddress = (user: User, { email }: UserChange) =>
  email !== undefined && foldEmail(email) !== foldEmail(user.email)

/** Rejects an invitation for a user who can request a reset link. @throws Problem 409 if the address is confirmed */
function refuseConfirmed(user: User): void {
  if (user.email_verified) throw new Problem('address_confirmed')
}

/** Checks the required status. @throws Problem 409 if the status of the user is different */
function requireStatus({ status }: User, { if_status: required }: StatusCondition): void {
  if (required !== undefined && status !== required) throw new Problem('status_changed')
}

/** Marks a journal entry about a password that an administrator has set. */
const BY_OTHERS = { by: 'administrator' }

const keysOf = ({ id, tenant_id }: User) => ({ tenantId: tenant_id, userId: id })

function requireSuperadminFor(caller: Caller, role: Role): void {
  if (role === 'superadmin' && caller.role !== 'superadmin')
    throw new Problem('superadmin_required', {
      detail: 'Only a superadmin can assign the role superadmin.',
    })
}

/** Refuses to remove the caller's own account or the last active superadmin (decisions §2). */
function refuseLosing(caller: Caller, target: User, otherOperators: number): void {
  if (target.id === caller.user_id) throw new Problem('own_account')
  if (target.role === 'superadmin' && otherOperators === 0) throw new Problem('last_superadmin')
}

/** Checks that the tenant has the department. @throws InvalidInput if it does not */
export async function requireDepartment(
  tx: TenantTx,
  tenantId: number,
  id?: number | null,
): Promise<void> {
  const issue = await departmentIssue(tx, tenantId, id)
  if (issue) throw invalidValue(['body', 'department_id'], issue)
}

const NO_DEPARTMENT = 'no such department in the tenant'

/** Returns an error message if the tenant does not have the department. Undefined if it does, or `id` is empty. */
export async function departmentIssue(
  tx: TenantTx,
  tenantId: number,
  id?: number | null,
): Promise<string | undefined> {
  if (!id) return undefined
  return (await findDepartment(tx, id))?.tenant_id === tenantId ? undefined : NO_DEPARTMENT
}
