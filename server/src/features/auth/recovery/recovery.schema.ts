import Type from 'typebox'
import { NewPassword, Nullable } from '../../../lib/shapes.ts'
import { Email, Password, Subdomain } from '../auth.schema.ts'

export const LinkRequest = Type.Object({
  email: Email,
  subdomain: Type.Optional(Nullable(Subdomain)),
})

export const TokenQuery = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 500, description: 'The token of the link.' }),
})

export const Confirmation = Type.Object({
  password: Type.Optional(
    Nullable(Password, {
      description:
        'The password of the account. If sent, it must be correct for the address to be confirmed.',
    }),
  ),
})

export const NewPasswordRequest = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 500 }),
  new_password: NewPassword,
})
