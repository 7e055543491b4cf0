/** The request schema of a sign-in. */
import Type, { type Static } from 'typebox'
import { Nullable } from '../../../lib/shapes.ts'
import { Email, Password, Subdomain } from '../auth.schema.ts'

export const Credentials = Type.Object({
  email: Email,
  password: Password,
  subdomain: Type.Optional(Nullable(Subdomain)),
  totp_code: Type.Optional(Nullable(Type.String({ maxLength: 64, trim: true }))),
})
export type Credentials = Static<typeof Credentials>
