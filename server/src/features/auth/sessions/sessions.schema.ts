/** Sessions and the tokens of one on the wire. */
import Type, { type Static } from 'typebox'
import { ROLES } from '../../../lib/roles.ts'
import { Id, Nullable, OneOf, Timestamp } from '../../../lib/shapes.ts'

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
