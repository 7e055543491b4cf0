/** The access table: every operation for every role, on the role's own tenant and on another tenant (decisions §2). */
import { SOME_STATS } from '../stats/scene.ts'
import { PASSWORD } from '../support/clinics.ts'
import { AUDIT } from './audit-table.ts'
import { BACKUPS } from './backups-table.ts'
import {
  admins,
  atDepartment,
  atTenant,
  atUser,
  auditors,
  everyone,
  type Line,
  named,
  newUser,
  nothing,
  ofTenant,
  operators,
  signedIn,
} from './lines.ts'
import { PATIENTS } from './patients-table.ts'
import { PAYMENTS } from './payments-table.ts'
import { ENTRY } from './public-operations-table.ts'
import { END_USER_SESSION, jtiOf } from './scene.ts'
import { SELF_HEALING } from './self-healing-table.ts'
import { WEBHOOKS } from './webhooks-table.ts'

export const TABLE: readonly Line[] = [
  { name: 'GET /api/admin/encryption/status', aim: nothing, own: operators(200) },
  { name: 'GET /api/admin/encryption/keys', aim: nothing, own: operators(200) },
  {
    name: 'POST /api/admin/encryption/rotate',
    aim: () => ({ body: { new_key: 'no key' } }),
    own: operators(422),
  },
  { name: 'GET /healthz', aim: nothing, own: everyone(200) },
  { name: 'GET /readyz', aim: nothing, own: everyone(200) },
  { name: 'GET /openapi.json', aim: nothing, own: everyone(200) },
  { name: 'GET /.well-known/jwks.json', aim: nothing, own: everyone(200) },
  ...ENTRY,
  { name: 'GET /api/auth/me', aim: nothing, own: signedIn(200) },
  { name: 'GET /api/users/me', aim: nothing, own: signedIn(200) },
  { name: 'GET /api/auth/sessions', aim: nothing, own: signedIn(200) },
  {
    name: 'DELETE /api/auth/sessions/{jti}',
    aim: (_target, token) => ({ path: { jti: token ? jtiOf(token) : 'none' } }),
    own: signedIn(200),
  },
  {
    name: 'DELETE /api/auth/sessions/{jti}',
    what: "another's",
    aim: ({ sessionId }) => ({ path: { jti: sessionId } }),
    // The session in the own tenant belongs to its doctor.
    own: { ...signedIn(404), doctor: 200 },
    foreign: signedIn(404),
  },
  {
    name: 'POST /api/auth/logout',
    aim: ({ refresh }) => ({ body: { refresh_token: refresh, all_devices: false } }),
    own: signedIn(200),
    foreign: signedIn(200),
  },
  { name: 'GET /api/preferences', aim: nothing, own: signedIn(200) },
  {
    name: 'PUT /api/preferences',
    aim: ({ tenantId, userId }) => ({
      body: { theme: 'light', tenant_id: tenantId, user_id: userId },
    }),
    own: signedIn(200),
    foreign: signedIn(200),
  },
  {
    name: 'PUT /api/preferences/theme',
    aim: () => ({ body: { theme: 'dark' } }),
    own: signedIn(200),
  },
  {
    name: 'PUT /api/users/me/password',
    what: 'not knowing the current one',
    aim: () => ({ body: { current_password: 'wrong', new_password: 'correct-Horse-9' } }),
    own: signedIn(403),
  },
  {
    name: 'POST /api/console/session/confirm',
    what: 'in a session of the API',
    aim: () => ({ body: { password: PASSWORD } }),
    own: signedIn(409),
  },
  {
    name: 'POST /api/auth/totp/setup',
    aim: () => ({ body: { password: PASSWORD } }),
    // Everyone except the superadmin has this password.
    own: { ...signedIn(200), superadmin: 403 },
  },
  {
    name: 'POST /api/auth/totp/enable',
    what: 'with a wrong code',
    aim: () => ({ body: { code: 'none' } }),
    // There is no second factor to enable, because no setup is pending.
    own: { ...signedIn(403), superadmin: 409 },
  },
  {
    name: 'POST /api/auth/totp/disable',
    what: 'not knowing the password',
    aim: () => ({ body: { password: 'wrong' } }),
    own: signedIn(403),
  },

  { name: 'GET /api/messenger/status', aim: nothing, own: signedIn(200) },
  {
    name: 'POST /api/messenger/link',
    what: 'without a bot',
    aim: () => ({ body: { code: 'ABCD-2345' } }),
    own: signedIn(503),
  },
  { name: 'DELETE /api/messenger/link', aim: nothing, own: signedIn(200) },
  {
    name: 'POST /api/messenger/subscribe',
    aim: ({ tenantId, userId }) => ({
      body: { events: ['auth.login'], tenant_id: tenantId, user_id: userId },
    }),
    own: signedIn(200),
    foreign: signedIn(200),
  },
  { name: 'POST /webhooks/messenger', what: 'without a bot', aim: nothing, own: everyone(404) },

  { name: 'GET /api/admin/health', aim: nothing, own: admins(200) },
  { name: 'GET /api/admin/overview', aim: nothing, own: admins(200) },
  {
    name: 'GET /api/admin/overview',
    what: 'of a tenant',
    aim: ofTenant,
    own: admins(200),
    foreign: admins(200, 403),
  },
  {
    name: 'GET /api/admin/stats',
    aim: ({ tenantId }) => ({ query: { ...SOME_STATS, tenant_id: tenantId } }),
    own: admins(200),
    foreign: admins(200, 403),
  },
  ...AUDIT,

  { name: 'GET /api/admin/tenants', aim: nothing, own: auditors(200) },
  {
    name: 'POST /api/admin/tenants',
    aim: () => ({ body: { name: 'New', subdomain: crypto.randomUUID() } }),
    own: operators(201),
  },
  {
    name: 'GET /api/admin/tenants/{tenant_id}',
    aim: atTenant,
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'PUT /api/admin/tenants/{tenant_id}',
    aim: (target) => ({ ...atTenant(target), body: { name: 'Renamed' } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'PUT /api/admin/tenants/{tenant_id}',
    what: 'to deactivate it',
    aim: ({ spareTenantId, tenantId }, token) => ({
      // The call of a superadmin would succeed and end the sessions of the tenant, so it gets another tenant.
      path: { tenant_id: token && roleOf(token) === 'superadmin' ? spareTenantId : tenantId },
      body: { is_active: false },
    }),
    own: admins(200, 403),
    foreign: admins(200, 404),
  },
  {
    name: 'DELETE /api/admin/tenants/{tenant_id}',
    aim: ({ spareTenantId }) => ({ path: { tenant_id: spareTenantId } }),
    own: operators(204),
    foreign: operators(204),
  },
  {
    name: 'POST /api/admin/tenants/{tenant_id}/restore',
    aim: ({ deletedTenantId }) => ({ path: { tenant_id: deletedTenantId } }),
    own: operators(200),
    foreign: operators(200),
  },

  {
    name: 'GET /api/admin/departments',
    aim: ofTenant,
    own: auditors(200),
    foreign: auditors(200, 403),
  },
  {
    name: 'POST /api/admin/departments',
    aim: ({ tenantId }) => ({ body: named({ tenant_id: tenantId }) }),
    own: admins(201),
    foreign: admins(201, 403),
  },
  {
    name: 'POST /api/admin/departments',
    what: 'headed by',
    aim: ({ doctorId }) => ({ body: named({ head_doctor_id: doctorId }) }),
    // The own tenant of a superadmin is the platform, in which this doctor does not exist either.
    own: admins(422, 201),
    foreign: admins(422),
  },
  {
    name: 'GET /api/admin/departments/{dept_id}',
    aim: atDepartment,
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'PUT /api/admin/departments/{dept_id}',
    aim: (target) => ({ ...atDepartment(target), body: named() }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'DELETE /api/admin/departments/{dept_id}',
    aim: atDepartment,
    own: admins(204),
    foreign: admins(204, 404),
  },

  { name: 'GET /api/admin/users', aim: ofTenant, own: auditors(200), foreign: auditors(200, 403) },
  {
    name: 'GET /api/admin/users',
    what: 'by a search',
    aim: () => ({ query: { search: 'a', limit: 100 } }),
    own: auditors(200),
    foreign: auditors(200),
  },
  {
    name: 'POST /api/admin/users',
    aim: ({ tenantId }) => newUser({ tenant_id: tenantId }),
    own: admins(201),
    foreign: admins(201, 403),
  },
  {
    name: 'POST /api/admin/users',
    what: 'into a department',
    aim: ({ departmentId }) => newUser({ department_id: departmentId }),
    own: admins(422, 201),
    foreign: admins(422),
  },
  {
    name: 'POST /api/admin/users',
    what: 'as a superadmin',
    aim: ({ tenantId }) => newUser({ tenant_id: tenantId, role: 'superadmin' }),
    own: admins(201, 403),
    foreign: admins(201, 403),
  },
  {
    name: 'GET /api/admin/users/{user_id}',
    aim: atUser,
    own: auditors(200),
    foreign: auditors(200, 404),
  },
  {
    name: 'PUT /api/admin/users/{user_id}',
    aim: (target) => ({ ...atUser(target), body: { full_name: 'Renamed' } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'POST /api/admin/users/{user_id}/invitation',
    aim: atUser,
    own: admins(409),
    foreign: admins(409, 404),
  },
  {
    name: 'DELETE /api/admin/users/{user_id}',
    aim: atUser,
    own: admins(204),
    foreign: admins(204, 404),
  },
  {
    name: 'POST /api/admin/users/{user_id}/block',
    aim: atUser,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'POST /api/admin/users/{user_id}/unblock',
    aim: atUser,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'DELETE /api/admin/users/{user_id}/totp',
    aim: atUser,
    own: admins(204),
    foreign: admins(204, 404),
  },
  {
    name: 'GET /api/admin/users/{user_id}/sessions',
    aim: atUser,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'DELETE /api/admin/users/{user_id}/sessions',
    aim: atUser,
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: END_USER_SESSION,
    aim: ({ userId, sessionId }) => ({ path: { user_id: userId, jti: sessionId } }),
    own: admins(204),
    foreign: admins(204, 404),
  },
  {
    name: 'PUT /api/admin/users/{user_id}/password',
    aim: (target) => ({ ...atUser(target), body: { password: 'a-Fine-Secret-3' } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'PUT /api/admin/users/{user_id}/role',
    aim: (target) => ({ ...atUser(target), body: { role: 'doctor' } }),
    own: admins(200),
    foreign: admins(200, 404),
  },
  {
    name: 'PUT /api/admin/users/{user_id}/role',
    what: 'to superadmin',
    aim: (target) => ({ ...atUser(target), body: { role: 'superadmin' } }),
    own: admins(200, 403),
    foreign: admins(200, 404),
  },

  ...WEBHOOKS,
  ...BACKUPS,
  ...SELF_HEALING,
  ...PAYMENTS,
  ...PATIENTS,
]

function roleOf(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).role
}
