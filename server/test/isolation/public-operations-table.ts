/** Operations that need no session: signing in, registration and recovery. */
import { everyone, type Line, nothing, registration, unknownAccount } from './lines.ts'

export const ENTRY: readonly Line[] = [
  { name: 'GET /api/auth/capabilities', aim: nothing, own: everyone(200) },
  { name: 'GET /api/auth/tenants', aim: nothing, own: everyone(200) },
  {
    name: 'GET /api/auth/departments',
    aim: ({ subdomain }) => ({ query: { subdomain } }),
    own: everyone(200),
  },
  {
    name: 'POST /api/auth/login',
    aim: () => ({ body: { ...unknownAccount(), password: 'wrong' } }),
    own: everyone(401),
  },
  {
    name: 'POST /api/console/session',
    aim: () => ({ body: { ...unknownAccount(), password: 'wrong' } }),
    own: everyone(401),
  },
  {
    name: 'POST /api/console/session/refresh',
    aim: () => ({ body: {} }),
    own: everyone(204),
  },
  {
    name: 'DELETE /api/console/session',
    aim: () => ({ body: {} }),
    own: everyone(204),
  },
  { name: 'GET /api/console/welcome', aim: nothing, own: everyone(200) },
  {
    name: 'POST /api/auth/refresh',
    aim: () => ({ body: { refresh_token: 'none' } }),
    own: everyone(401),
  },
  { name: 'POST /api/auth/register', aim: () => registration({}), own: everyone(201) },
  {
    name: 'POST /api/auth/register',
    what: 'into a department',
    aim: ({ departmentId }) => registration({ department_id: departmentId }),
    own: everyone(201),
    foreign: everyone(422),
  },
  {
    name: 'POST /api/auth/register',
    what: 'as an administrator',
    aim: () => registration({ role: 'admin' }),
    own: everyone(403),
  },
  {
    name: 'POST /api/auth/resend-verification',
    aim: () => ({ body: unknownAccount() }),
    own: everyone(202),
  },
  {
    name: 'POST /api/auth/verify-email',
    aim: ({ tenantId }) => ({ query: { token: `${tenantId}.${'A'.repeat(43)}` } }),
    own: everyone(400),
    foreign: everyone(400),
  },
  {
    name: 'POST /api/auth/request-reset',
    aim: () => ({ body: unknownAccount() }),
    own: everyone(202),
  },
  {
    name: 'POST /api/auth/reset-password',
    aim: ({ tenantId }) => ({
      body: { token: `${tenantId}.${'A'.repeat(43)}`, new_password: 'a-Fine-Secret-3' },
    }),
    own: everyone(400),
    foreign: everyone(400),
  },
]
