/** Sign-in, sessions and tokens on the wire. */
import Type, { type Static } from 'typebox'
import { ROLES } from '../../lib/roles.ts'
import {
  EmailAddress,
  Id,
  Name,
  NewPassword,
  Nullable,
  OneOf,
  Timestamp,
} from '../../lib/shapes.ts'

const Password = Type.String({ minLength: 1, maxLength: 1000 })
const Email = Type.String({ minLength: 1, maxLength: 254, trim: true })
const Subdomain = Type.String({ maxLength: 63, trim: true })

export const Credentials = Type.Object({
  email: Email,
  password: Password,
  subdomain: Type.Optional(Nullable(Subdomain)),
  totp_code: Type.Optional(Nullable(Type.String({ maxLength: 64, trim: true }))),
})
export type Credentials = Static<typeof Credentials>

export const Registration = Type.Object({
  email: EmailAddress,
  password: NewPassword,
  full_name: Name,
  role: OneOf(ROLES, { description: 'doctor, nurse or receptionist' }),
  subdomain: Type.Optional(Nullable(Subdomain)),
  department_id: Type.Optional(Nullable(Id)),
})
export type Registration = Static<typeof Registration>

export const LinkRequest = Type.Object({
  email: Email,
  subdomain: Type.Optional(Nullable(Subdomain)),
})

export const TokenQuery = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 500 }),
})

export const Confirmation = Type.Object({
  password: Type.Optional(
    Nullable(Password, {
      description: 'of the account; where it is given, only the right one confirms the address',
    }),
  ),
})

export const NewPasswordRequest = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 500 }),
  new_password: NewPassword,
})

export const TotpSetup = Type.Object(
  {
    secret: Type.String({ description: 'base32, for typing in by hand' }),
    otpauth_url: Type.String(),
    qr_svg: Type.String({ description: 'the URL as a QR code, an SVG image' }),
  },
  { $id: 'TotpSetup' },
)
export type TotpSetup = Static<typeof TotpSetup>

export const TotpRequest = Type.Object({
  password: Type.Optional(
    Nullable(Password, {
      description: 'may be left out within 10 minutes of a sign-in that demands the enrolment',
    }),
  ),
})

export const TotpCode = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 64, trim: true }),
})
export const RecoveryCodes = Type.Object({
  recovery_codes: Type.Array(Type.String(), { description: 'shown this once; each is good once' }),
})
export const PasswordProof = Type.Object({ password: Password })

export const RefreshRequest = Type.Object({
  refresh_token: Type.String({ minLength: 1, maxLength: 500 }),
})

export const LogoutRequest = Type.Object({
  refresh_token: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  all_devices: Type.Optional(Type.Boolean()),
})
export type LogoutRequest = Static<typeof LogoutRequest>

export const TokenResponse = Type.Object(
  {
    access_token: Type.String(),
    refresh_token: Type.String(),
    token_type: Type.Literal('bearer'),
    expires_in: Type.Integer({ description: 'seconds that the access token is valid' }),
    tenant_id: Id,
    role: OneOf(ROLES),
    user_id: Id,
    full_name: Type.String(),
    demo_mode: Type.Boolean(),
    enrolment_required: Type.Boolean({
      description: 'true when the session can do nothing but set up a second factor',
    }),
    password_change_required: Type.Boolean({
      description: 'true when the session can do nothing but change the own password',
    }),
  },
  { $id: 'TokenResponse' },
)
export type TokenResponse = Static<typeof TokenResponse>

export const Message = Type.Object(
  { detail: Type.String(), email_verified: Nullable(Type.Boolean()) },
  { $id: 'Message' },
)
export type Message = Static<typeof Message>

export const Session = Type.Object(
  {
    jti: Type.String(),
    created_at: Type.Integer({ description: 'seconds since the Unix epoch' }),
    ip: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    last_used_at: Timestamp,
    current: Type.Boolean(),
  },
  { $id: 'Session' },
)
export type Session = Static<typeof Session>

export const SessionPath = Type.Object({ jti: Type.String({ minLength: 1, maxLength: 100 }) })

export const JsonWebKeySet = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.String(),
      crv: Type.String(),
      x: Type.String(),
      kid: Type.String(),
      alg: Type.String(),
      use: Type.String(),
    }),
  ),
})
export type JsonWebKeySet = Static<typeof JsonWebKeySet>
