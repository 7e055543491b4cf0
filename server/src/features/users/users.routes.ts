/** The `/api/admin/users*` routes, and the route with which callers change their own password. */
import { pageStartOf } from '../../lib/page.ts'
import { admins, auditors, signedIn } from '../../platform/access/index.ts'
import { isSamePassword, weaknessOf } from '../../platform/crypto/index.ts'
import { type AnyOperation, operation } from '../../platform/http/index.ts'
import {
  Done,
  NewUser,
  OwnPasswordChange,
  PasswordReset,
  RoleChange,
  StatusCondition,
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
      summary: 'List users',
      description:
        'Returns a page of users. `search` matches a part of the name or of the e-mail address. A superadmin sees every tenant and can select one with `tenant_id`.',

      tag,
      access: auditors,
      query: UserQuery,
      list: true,
      refine: (given, refuse) => pageStartOf(userList, given, refuse),
      success: [200, UserPage],
      refusals: ['other_tenant'],
      handle: ({ caller, query, refined }) => users.list(caller, query, refined),
    }),
    operation({
      method: 'POST',
      path: '/api/admin/users',
      id: 'createUser',
      summary: 'Create a user',
      description:
        'Creates a user. Without `password` the user receives an invitation by mail and chooses a password. With `password` the user receives a link that confirms the address. A superadmin must name the tenant.',
      records: ['user.created', 'user.invited', 'auth.verification_sent'],
      tag,
      access: admins,
      body: NewUser,
      refine: ({ body, caller, faulty }, refuse) => {
        refuse(['body', 'password'], weaknessOf(body.password, body.email))
        const isInvited = body.password === undefined && !faulty.has('body.password')
        const isUnnamed = body.tenant_id === undefined && !faulty.has('body.tenant_id')
        if (isUnnamed && caller.role === 'superadmin')
          refuse(['body', 'tenant_id'], 'tenant_id is required for superadmins')
        if (isInvited && body.must_change_password)
          refuse(
            ['body', 'must_change_password'],
            'leave password out when invite is true, because the invited user chooses it',
          )
      },
      checkReferences: ({ caller, body, faulty }, refuse) =>
        faulty.has('body.tenant_id')
          ? Promise.resolve()
          : users.checkReferences(caller, body, refuse),
      success: [201, User],
      refusals: ['other_tenant', 'superadmin_required', 'not_found', 'email_taken', 'overloaded'],
      example: {
        answer: { email_verified: false },
        body: {
          email: 'nora.nurse@north.example',
          full_name: 'Nora Nurse',
          role: 'nurse',
          department_id: 12,
        },
      },
      handle: ({ caller, body }) => users.create(caller, body),
    }),
    operation({
      method: 'GET',
      path: '/api/admin/users/{user_id}',
      id: 'getUser',
      summary: 'Get a user',
      description: 'Returns one user.',
      tag,
      access: auditors,
      params: UserPath,
      success: [200, User],
      refusals: ['not_found'],
      handle: ({ caller, path }) => users.get(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'PUT',
      path: '/api/admin/users/{user_id}',
      id: 'updateUser',
      summary: 'Change a user',
      description:
        'Changes the fields that are sent. `department_id: null` removes the user from the department. A new e-mail address ends the sessions of the user, invalidates earlier links, notifies the former address if it was confirmed, and sends the new one a link.',
      records: ['user.updated', 'auth.verification_sent'],
      body: UserChange,
      checkReferences: ({ caller, path, body, faulty }, refuse) =>
        faulty.has('path.user_id')
          ? Promise.resolve()
          : users.checkReferences(caller, { ...path, ...body }, refuse),
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'email_taken'],
      example: {
        answer: { full_name: 'Nora Nightingale', can_see_all_patients: true },
        body: { full_name: 'Nora Nightingale', can_see_all_patients: true },
      },
      handle: ({ caller, path, body }) => users.update(caller, path.user_id, body),
    }),
    operation({
      ...ofUser,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}',
      id: 'deleteUser',
      summary: 'Delete a user',
      description:
        'Deletes the user, ends their sessions, and removes them as head of department and attending doctor. The owner of a pending registration is notified by mail if the address is confirmed.',
      records: ['user.deleted', 'department.updated', 'messenger.unlinked'],
      query: StatusCondition,
      success: [204, null],
      refusals: [
        'not_found',
        'superadmin_required',
        'status_changed',
        'own_account',
        'last_superadmin',
      ],
      handle: ({ caller, path, query }) => users.delete(caller, path.user_id, query),
    }),
    operation({
      ...ofUser,
      method: 'POST',
      path: '/api/admin/users/{user_id}/block',
      id: 'blockUser',
      endsAccess: true,
      summary: 'Block a user',
      description:
        'Blocks the user and ends their sessions. Access tokens stop working immediately.',
      records: ['user.blocked'],
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'last_superadmin'],
      example: { answer: { is_active: false, status: 'blocked' } },
      handle: ({ caller, path }) => users.block(caller, path.user_id),
    }),
    operation({
      ...ofUser,
      method: 'POST',
      path: '/api/admin/users/{user_id}/unblock',
      id: 'unblockUser',
      summary: 'Unblock a user',
      description:
        'Lets a blocked user sign in again, or approves a pending registration. An approved user is notified by mail if the address is confirmed.',
      records: ['user.unblocked'],
      query: StatusCondition,
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'status_changed'],
      handle: ({ caller, path, query }) => users.unblock(caller, path.user_id, query),
    }),
    operation({
      ...ofUser,
      method: 'POST',
      path: '/api/admin/users/{user_id}/invitation',
      id: 'inviteUser',
      summary: 'Send an invitation',
      description:
        'Sends the user another link to choose a password and confirm their address. Earlier invitations stop working.',
      records: ['user.invited'],
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
      summary: "Set a user's password",
      description:
        'Sets the password of another user, ends their sessions, and notifies them by mail. With `must_change_password` the user has to choose another password at the next sign-in.',
      records: ['user.password_changed'],
      body: PasswordReset,
      refine: ({ body }, refuse) => refuse(['body', 'password'], weaknessOf(body.password)),
      checkReferences: ({ caller, path, body, faulty }, refuse) =>
        faulty.has('path.user_id')
          ? Promise.resolve()
          : users.checkReferences(caller, { ...path, ...body }, refuse),
      success: [200, Done],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'overloaded'],
      example: {
        answer: { detail: "The password was changed and the user's sessions were ended" },
        body: { password: 'a-Fine-Secret-3', must_change_password: true },
      },
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
      summary: "Change a user's role",
      description:
        'Gives the user another role and ends their sessions. Only a superadmin can grant or remove the role `superadmin`.',
      records: ['user.role_changed'],
      body: RoleChange,
      success: [200, User],
      refusals: ['not_found', 'superadmin_required', 'own_account', 'last_superadmin'],
      example: { answer: { role: 'receptionist' }, body: { role: 'receptionist' } },
      handle: ({ caller, path, body }) => users.changeRole(caller, path.user_id, body.role),
    }),
    operation({
      method: 'PUT',
      path: '/api/users/me/password',
      id: 'changeOwnPassword',
      endsAccess: true,
      summary: "Change the caller's password",
      description:
        'Sets a new password and ends every session of the caller, this one included. The user is notified by mail.',
      records: ['user.password_changed'],
      tag: 'Profile',
      access: signedIn,
      whileRestricted: ['password'],
      body: OwnPasswordChange,
      refine: ({ body, caller }, refuse) => {
        const loc = ['body', 'new_password']
        refuse(loc, weaknessOf(body.new_password, caller.email))
        const { current_password: current, new_password: chosen } = body
        if (current && chosen && isSamePassword(current, chosen))
          refuse(loc, 'must differ from the current password')
      },
      success: [200, Done],
      refusals: ['wrong_password', 'conflict', 'overloaded'],
      example: { body: { current_password: 'a-Fine-Secret-3', new_password: 'another-Secret-4' } },
      handle: async ({ caller, body }) => {
        await users.changeOwnPassword(caller, body)
        return { detail: 'The password was changed. Sign in again.' }
      },
    }),
  ]
}
