import Type, { type Static } from 'typebox'
import { ROLES } from '../../../lib/roles.ts'
import { EmailAddress, Id, Name, NewPassword, Nullable, OneOf } from '../../../lib/shapes.ts'
import { Subdomain } from '../auth.schema.ts'

export const Registration = Type.Object({
  email: EmailAddress,
  password: NewPassword,
  full_name: Name,
  role: OneOf(ROLES, { description: 'The role of the account: doctor, nurse or receptionist.' }),
  subdomain: Type.Optional(Nullable(Subdomain)),
  department_id: Type.Optional(Nullable(Id)),
})
export type Registration = Static<typeof Registration>
