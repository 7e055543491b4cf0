import Type from 'typebox'
import { anyone, signedIn } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { Message, message } from '../auth.schema.ts'
import {
  LogoutRequest,
  OwnProfile,
  RefreshRequest,
  Session,
  SessionPath,
  TokenResponse,
} from './sessions.schema.ts'
import type { Sessions } from './sessions.service.ts'

export function sessionOperations(sessions: Sessions): AnyOperation[] {
  const tag = 'Sign-in'
  return [
    operation({
      method: 'POST',
      path: '/api/auth/refresh',
      id: 'refreshTokens',
      summary: 'Refresh the tokens',
      description:
        'Exchanges a refresh token for new tokens of the same session. Each refresh token works once: sending a used one ends the session, because it may have been stolen.',
      records: ['auth.token_refreshed', 'auth.refresh_reused'],
      tag,
      access: anyone,
      body: RefreshRequest,
      success: [200, TokenResponse],
      refusals: ['invalid_refresh_token'],
      example: { body: { refresh_token: 'MQ.3kTh9Zr0qv1uXn8wYb2cDd' } },
      handle: ({ body, origin }) => sessions.refresh(body.refresh_token, origin),
    }),
    operation({
      method: 'POST',
      path: '/api/auth/logout',
      id: 'logout',
      endsAccess: true,
      whileRestricted: ['password', 'enrolment'],
      summary: 'Sign out',
      description:
        'Ends this session, or every session of the caller with `all_devices`. Its access and refresh tokens stop working immediately.',
      records: ['auth.logout'],
      tag,
      access: signedIn,
      body: LogoutRequest,
      bodyOptional: true,
      success: [200, Message],
      example: {
        answer: { detail: 'Signed out', email_verified: null },
        body: { all_devices: false },
      },
      handle: async ({ caller, body }) => {
        await sessions.logout(caller, body)
        return message(body.all_devices ? 'Signed out everywhere' : 'Signed out')
      },
    }),
    operation({
      method: 'GET',
      path: '/api/auth/sessions',
      id: 'listSessions',
      summary: "List the caller's sessions",
      description:
        'Returns the active sessions of the caller, latest first. `current` marks the session of this request.',

      tag,
      access: signedIn,
      success: [200, Type.Array(Session)],
      handle: ({ caller }) => sessions.list(caller),
    }),
    operation({
      method: 'DELETE',
      path: '/api/auth/sessions/{jti}',
      id: 'revokeSession',
      endsAccess: true,
      summary: 'End a session',
      description:
        'Ends one session of the caller, for example on a lost device. Its tokens stop working immediately.',
      records: ['auth.session_revoked'],
      tag,
      access: signedIn,
      params: SessionPath,
      success: [200, Message],
      refusals: ['not_found'],
      example: { answer: { detail: 'The session was ended', email_verified: null } },
      handle: async ({ caller, path }) => {
        await sessions.revoke(caller, path.jti)
        return message('The session was ended')
      },
    }),
    ...(['/api/auth/me', '/api/users/me'] as const).map((path) =>
      operation({
        method: 'GET',
        path,
        id: path === '/api/auth/me' ? 'getMe' : 'getProfile',
        whileRestricted: ['password', 'enrolment'],
        summary: "Get the caller's profile",
        description: 'Returns the account of the caller. Both paths return the same.',
        tag: 'Profile',
        access: signedIn,
        success: [200, OwnProfile],
        handle: ({ caller }) => sessions.profile(caller),
      }),
    ),
  ]
}
