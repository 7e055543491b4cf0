import Type from 'typebox'
import { admins } from '../../../platform/access/index.ts'
import { type AnyOperation, operation } from '../../../platform/http/index.ts'
import { UserPath } from '../../users/index.ts'
import { EndedSessions, Session, UserSessionPath } from './sessions.schema.ts'
import type { UserSessions } from './user-sessions.service.ts'

/** Only administrators may list sessions. Auditors see the devices and IP addresses of staff in the audit log. */
const common = { tag: 'Users', access: admins } as const

export function userSessionOperations(sessions: UserSessions): AnyOperation[] {
  return [
    operation({
      ...common,
      method: 'GET',
      path: '/api/admin/users/{user_id}/sessions',
      id: 'listUserSessions',
      summary: "List a user's sessions",
      description:
        'Returns the active sessions of a user, latest first. `current` marks the session of this request.',
      params: UserPath,
      success: [200, Type.Array(Session)],
      refusals: ['not_found', 'superadmin_required'],
      handle: ({ caller, path }) => sessions.list(caller, path.user_id),
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}/sessions',
      id: 'endUserSessions',
      endsAccess: true,
      summary: "End a user's sessions",
      description:
        'Ends every session of a user, for example after a device was lost. Access tokens stop working immediately. The user can sign in again.',
      records: ['user.sessions_ended'],
      params: UserPath,
      success: [200, EndedSessions],
      refusals: ['not_found', 'superadmin_required'],
      handle: async ({ caller, path }) => ({ ended: await sessions.endAll(caller, path.user_id) }),
    }),
    operation({
      ...common,
      method: 'DELETE',
      path: '/api/admin/users/{user_id}/sessions/{jti}',
      id: 'endUserSession',
      endsAccess: true,
      summary: 'End a session of a user',
      description:
        'Ends one session of a user. Its tokens stop working immediately. Other sessions of the user continue.',
      records: ['user.sessions_ended'],
      params: UserSessionPath,
      success: [204, null],
      refusals: ['not_found', 'superadmin_required'],
      handle: ({ caller, path }) => sessions.end(caller, path.user_id, path.jti),
    }),
  ]
}
