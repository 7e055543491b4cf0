/** `/api/admin/users*` and the caller's own password. */
import { startOf } from '../../lib/page.ts'
import { admins, auditors, signedIn } from '../../platform/access/index.ts'
import { isSamePassword, weaknessOf } from '../../platform/crypto/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  Done,
  NewUser,
  OwnPasswordChange,
  PasswordReset,
  RoleChange,
  User,
  UserChange,
  UserPage,
  UserPath,
  UserQuery,
  userList,
} from './users.schema.ts'
import type { Users } from './users.service.ts'

const tag = 'Users'
const ofUser = { tag, access: admins, params: UserPath } as const

export function userOperations(users: Users): AnyOperation[] {
  return [
    operation({
      method: 'GET',
      path: '/api/admin/users',
      id: 'listUsers',
      summary: 'A page of users; `search` finds a part of the name or the e-mail address',
      tag,
      access: auditors,
      query: UserQuery,
      list: true,
      refine: (given, refuse) => startOf(userList, given, refuse),
      success: [200, UserPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => users.list(caller, query, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/users',
      id: 'createUser',
      summary: 'Creates a user. Without a password the user gets an invitation by mail',
      tag,
      access: admins,
      body: NewUser,
      refine: ({ body, caller, faulty }, refuse) => {
        refuse(['body', 'password'], weaknessOf(body.password, body.email))
        const isInvited = body.password === undefined && !faulty.has('body.password')
        const isUnnamed = body.tenant_id === undefined && !faulty.has('body.tenant_id')
        if (isUnnamed && caller.role === 'superadmin')
          refuse(['body', 'tenant_id'], 'say for which tenant')
        if (isInvited && body.must_change_password)
          refuse(['body', 'must_change_password'], 'an invited user chooses the password')
      },
      checkReferences: ({ caller, body, faulty }, refuse) =>
        faulty.has('body.tenant_id')
          ? Promise.resolve()
          : users.checkReferences(caller, body, refuse),
      success: [201, User],
      refusals: ['other_tenant', 'superadmin_required', 'not_found', 'email_taken', 'overloaded'],
      handle: ({ caller, body }) => users.create(caller, body),
    }),
    operation({
      ...ofUser,
      method: 'GET',
      path: '/api/admin/users/{user_id}',
      id: 'getUser',
      summary: 'One user',
      success: [200, User],
      refusals: ['not_found'],
      handle: ({ caller, path }) => users.get(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'PUT',
      path: '/api/admin/users/{user_id}',
      id: 'updateUser',
      summary: 'Changes a user. Fields that are left out stay; null removes the department',
      body: UserChange,
      checkReferences: ({ caller, path, body, faulty }, refuse) =>
        faulty.has('path.user_id')
          ? Promise.resolve()
          : users.checkReferences(caller, { ...path, ...body }, refuse),
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'email_taken'],
      handle: ({ caller, path, body }) => users.update(caller, path.user_id, body),
    }),
    operation({
      ...ofUser,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}',
      id: 'deleteUser',
      summary: 'Deletes a user and signs them out',
      success: [204, null],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'last_superadmin'],
      handle: ({ caller, path }) => users.delete(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'POST',
      path: '/api/admin/users/{user_id}/block',
      id: 'blockUser',
      endsAccess: true,
      summary: 'Blocks a user and signs them out; refuses a pending one',
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'last_superadmin'],
      handle: ({ caller, path }) => users.block(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'POST',
      path: '/api/admin/users/{user_id}/unblock',
      id: 'unblockUser',
      summary: 'Lets a blocked user sign in again, or a pending one for the first time',
      success: [200, User],
      refusals: ['not_found', 'superadmin_required'],
      handle: ({ caller, path }) => users.unblock(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'POST',
      path: '/api/admin/users/{user_id}/invitation',
      id: 'inviteUser',
      summary: 'Sends a user another link to choose a password and confirm their address',
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'address_confirmed', 'overloaded'],
      handle: ({ caller, path }) => users.invite(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'PUT',
      path: '/api/admin/users/{user_id}/password',
      id: 'resetUserPassword',
      endsAccess: true,
      summary: "Sets a user's password and ends their sessions",
      body: PasswordReset,
      refine: ({ body }, refuse) => refuse(['body', 'password'], weaknessOf(body.password)),
      checkReferences: ({ caller, path, body, faulty }, refuse) =>
        faulty.has('path.user_id')
          ? Promise.resolve()
          : users.checkReferences(caller, { ...path, ...body }, refuse),
      success: [200, Done],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'overloaded'],
      handle: async ({ caller, path, body }) => {
        await users.resetPassword(caller, path.user_id, body)
        return { detail: "The password was changed and the user's sessions were ended" }
      },
    }),
    operation({
      ...ofUser,
      method: 'PUT',
      path: '/api/admin/users/{user_id}/role',
      id: 'changeUserRole',
      summary: 'Gives a user another role and signs them out',
      body: RoleChange,
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'last_superadmin'],
      handle: ({ caller, path, body }) => users.changeRole(caller, path.user_id, body.role),
    }),
    operation({
      method: 'PUT',
      path: '/api/users/me/password',
      id: 'changeOwnPassword',
      endsAccess: true,
      summary: "Changes the caller's password and ends all their sessions",
      tag: 'Profile',
      access: signedIn,
      whileRestricted: ['password'],
      body: OwnPasswordChange,
      refine: ({ body, caller }, refuse) => {
        const loc = ['body', 'new_password']
        refuse(loc, weaknessOf(body.new_password, caller.email))
        const { current_password: current, new_password: chosen } = body
        if (current && chosen && isSamePassword(current, chosen))
          refuse(loc, 'choose one that differs from the current password')
      },
      success: [200, Done],
      refusals: ['wrong_password', 'conflict', 'overloaded'],
      handle: async ({ caller, body }) => {
        await users.changeOwnPassword(caller, body)
        return { detail: 'The password was changed; sign in again' }
      },
    }),
  ]
}
