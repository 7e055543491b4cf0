import Type, { type Static } from 'typebox'
import { nameKey } from '../../lib/fold.ts'
import { defineList, pageOf } from '../../lib/page.ts'
import { ROLES } from '../../lib/roles.ts'
import {
  described,
  EmailAddress,
  Id,
  idOf,
  Name,
  NewPassword,
  Nullable,
  OneOf,
  Timestamp,
} from '../../lib/shapes.ts'
import { USER_STATUSES } from './users.status.ts'

const fields = {
  id: Id,
  email: Type.String({ examples: ['nora.nurse@north.example'] }),
  full_name: Type.String({ examples: ['Nora Nurse'] }),
  role: OneOf(ROLES, { examples: ['nurse'] }),
  tenant_id: Id,
  department_id: Nullable(Id),
  department_name: Nullable(Type.String({ examples: ['Cardiology'] })),
  can_see_all_patients: Type.Boolean(),
  is_active: Type.Boolean({ examples: [true] }),
  status: OneOf(USER_STATUSES, {
    description: '`pending` users have registered and are waiting for approval.',
  }),
  email_verified: Type.Boolean({ examples: [true] }),
  totp_enabled: Type.Boolean(),
  must_change_password: Type.Boolean(),
  created_at: Timestamp,
  last_login_at: Nullable(Timestamp),
}

const MustChange = Type.Optional(
  Type.Boolean({
    description: 'True: the user has to choose another password before they can do anything else.',
  }),
)

export const User = Type.Object(fields, { $id: 'User' })
export type User = Static<typeof User>

export const Profile = Type.Object(fields, { $id: 'Profile' })
export type Profile = Static<typeof Profile>

export const UserPage = pageOf(User)

export const userList = defineList(
  'users',
  { id: 'integer', email: 'text', full_name: 'text', role: 'text', created_at: 'time' },
  { sort_by: 'id', sort_order: 'asc' },
  { full_name: nameKey },
)

export const UserQuery = Type.Object({
  tenant_id: Type.Optional(described(Id, 'Only users of this tenant. For superadmins.')),
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      trim: true,
      description: 'A part of the name or of the e-mail address.',
    }),
  ),
  role: Type.Optional(OneOf(ROLES, { description: 'Only users of this role.' })),
  is_active: Type.Optional(
    Type.Boolean({ description: 'true: users who can sign in; false: blocked and pending users.' }),
  ),
  status: Type.Optional(OneOf(USER_STATUSES, { description: 'Only users of this status.' })),
  department_id: Type.Optional(described(Id, 'Only users of this department.')),
  email_verified: Type.Optional(
    Type.Boolean({ description: 'Whether the e-mail address is confirmed.' }),
  ),
  totp_enabled: Type.Optional(Type.Boolean({ description: 'Whether a second factor is enabled.' })),
  ...userList.query,
})
export type UserQuery = Static<typeof UserQuery>

export const NewUser = Type.Object({
  email: EmailAddress,
  password: Type.Optional(
    Type.String({
      ...NewPassword,
      description: 'If left out, the user receives an invitation by mail and chooses a password.',
    }),
  ),
  full_name: Name,
  role: OneOf(ROLES),
  tenant_id: Type.Optional(Id),
  department_id: Type.Optional(Nullable(Id)),
  can_see_all_patients: Type.Optional(Type.Boolean()),
  must_change_password: MustChange,
})
export type NewUser = Static<typeof NewUser>

export const UserChange = Type.Object({
  email: Type.Optional(EmailAddress),
  full_name: Type.Optional(Name),
  department_id: Type.Optional(Nullable(Id)),
  can_see_all_patients: Type.Optional(Type.Boolean()),
})
export type UserChange = Static<typeof UserChange>

export const RoleChange = Type.Object({ role: OneOf(ROLES) })
export const PasswordReset = Type.Object({
  password: NewPassword,
  must_change_password: MustChange,
})
export type PasswordReset = Static<typeof PasswordReset>
export const OwnPasswordChange = Type.Object({
  current_password: Type.String({ maxLength: 1000 }),
  new_password: NewPassword,
})
export type OwnPasswordChange = Static<typeof OwnPasswordChange>

export const UserPath = Type.Object({ user_id: idOf('user', 57) })

/** The status that the user must still have at the time when the command locks the user. */
export const StatusCondition = Type.Object({
  if_status: Type.Optional(
    OneOf(USER_STATUSES, {
      description:
        'The status that the user must have. If the status is different, nothing changes and the response is 409.',
    }),
  ),
})
export type StatusCondition = Static<typeof StatusCondition>

export const Done = Type.Object({
  detail: Type.String({ examples: ['The password was changed. Sign in again.'] }),
})
