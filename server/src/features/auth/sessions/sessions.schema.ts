import Type, { type Static } from 'typebox'
import { ROLES } from '../../../lib/roles.ts'
import { Id, Nullable, OneOf, Timestamp } from '../../../lib/shapes.ts'
import { Profile, UserPath } from '../../users/index.ts'

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
    access_token: Type.String({ examples: ['eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiI1NyJ9.c2lnbmF0dXJl'] }),
    refresh_token: Type.String({ examples: ['MQ.3kTh9Zr0qv1uXn8wYb2cDd'] }),
    token_type: Type.Literal('bearer'),
    expires_in: Type.Integer({
      description: 'Seconds until the access token expires.',
      examples: [900],
    }),
    tenant_id: Id,
    role: OneOf(ROLES, { examples: ['nurse'] }),
    user_id: Id,
    full_name: Type.String({ examples: ['Nora Nurse'] }),
    demo_mode: Type.Boolean(),
    enrolment_required: Type.Boolean({
      description: 'True if the session can only set up a second factor.',
    }),
    password_change_required: Type.Boolean({
      description: 'True if the session can only change the password of the user.',
    }),
  },
  { $id: 'TokenResponse' },
)
export type TokenResponse = Static<typeof TokenResponse>

const { refresh_token: _kept, ...shown } = TokenResponse.properties

/** The idle limit of a console session in minutes. */
const IdleMinutes = Type.Integer({
  description: 'Minutes of inactivity after which the console signs the user out.',
  examples: [15],
})

/** The token response for the console. The refresh token is stored in a cookie that scripts cannot read. */
export const ConsoleTokens = Type.Object(
  { ...shown, idle_minutes: IdleMinutes },
  { $id: 'ConsoleTokens' },
)
export type ConsoleTokens = Static<typeof ConsoleTokens>

export const OwnProfile = Type.Object(
  { ...Profile.properties, idle_minutes: IdleMinutes },
  { $id: 'OwnProfile' },
)
export type OwnProfile = Static<typeof OwnProfile>

export const Session = Type.Object(
  {
    jti: Type.String({ examples: ['3f0c2b1e-52a4-4c0e-9a53-1f2d6b7a9c10'] }),
    created_at: Type.Integer({
      description: 'Seconds since the Unix epoch.',
      examples: [1795163400],
    }),
    ip: Nullable(Type.String({ examples: ['203.0.113.7'] })),
    user_agent: Nullable(Type.String({ examples: ['Mozilla/5.0'] })),
    last_used_at: Timestamp,
    current: Type.Boolean({ examples: [true] }),
  },
  { $id: 'Session' },
)
export type Session = Static<typeof Session>

export const SessionPath = Type.Object({
  jti: Type.String({ minLength: 1, maxLength: 100, description: 'The id of the session.' }),
})

export const UserSessionPath = Type.Object({
  ...UserPath.properties,
  ...SessionPath.properties,
})

export const EndedSessions = Type.Object(
  {
    ended: Type.Integer({
      minimum: 0,
      description: 'The number of sessions that were ended.',
      examples: [2],
    }),
  },
  { $id: 'EndedSessions' },
)
