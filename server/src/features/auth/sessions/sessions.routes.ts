/** `/api/auth/*` of sessions, and what the caller sees of themselves. */
import Type from 'typebox'
import { anyone, signedIn } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { Profile } from '../../users/index.ts'
import { Message, message } from '../auth.schema.ts'
import {
  LogoutRequest,
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
      summary: 'Exchanges a refresh token for new tokens of the same session',
      tag,
      access: anyone,
      body: RefreshRequest,
      success: [200, TokenResponse],
      refusals: ['invalid_refresh_token'],
      handle: ({ body, origin }) => sessions.refresh(body.refresh_token, origin),
    }),
    operation({
      method: 'POST',
      path: '/api/auth/logout',
      id: 'logout',
      endsAccess: true,
      whileRestricted: ['password', 'enrolment'],
      summary: 'Ends this session, or all of the caller with `all_devices`',
      tag,
      access: signedIn,
      body: LogoutRequest,
      bodyOptional: true,
      success: [200, Message],
      handle: async ({ caller, body }) => {
        await sessions.logout(caller, body)
        return message(body.all_devices ? 'Signed out everywhere' : 'Signed out')
      },
    }),
    operation({
      method: 'GET',
      path: '/api/auth/sessions',
      id: 'listSessions',
      summary: "The caller's live sessions, latest first",
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
      summary: "Ends one of the caller's sessions",
      tag,
      access: signedIn,
      params: SessionPath,
      success: [200, Message],
      refusals: ['not_found'],
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
        summary: 'What the caller sees of themselves',
        tag: 'Profile',
        access: signedIn,
        success: [200, Profile],
        handle: ({ caller }) => sessions.profile(caller),
      }),
    ),
  ]
}
