/** Schemas that several parts of the auth feature share. */
import Type, { type Static } from 'typebox'
import { Nullable } from '../../lib/shapes.ts'

export const Password = Type.String({ minLength: 1, maxLength: 1000 })

export const Email = Type.String({ minLength: 1, maxLength: 254, trim: true })

export const Subdomain = Type.String({ maxLength: 63, trim: true })

export const Message = Type.Object(
  {
    detail: Type.String({ examples: ['Your e-mail address is confirmed'] }),
    email_verified: Nullable(Type.Boolean()),
  },
  { $id: 'Message' },
)
export type Message = Static<typeof Message>

/** Returns a response body with a message for the user. `email_verified` is null if it is unknown. */
export const message = (detail: string, email_verified: boolean | null = null): Message => ({
  detail,
  email_verified,
})

export const Credentials = Type.Object({
  email: Email,
  password: Password,
  subdomain: Type.Optional(Nullable(Subdomain)),
  totp_code: Type.Optional(Nullable(Type.String({ maxLength: 64, trim: true }))),
})
export type Credentials = Static<typeof Credentials>
