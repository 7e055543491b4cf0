/** The contract as data: every operation of the specification, and the added ones. */

/** Whether the operation needs a bearer token. */
export type Auth = 'none' | 'bearer'

export interface Row {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  auth: Auth
  success: number
  /** Whether it has path, query or body parameters, and so can answer 422. */
  input: boolean
  /** The status of a call without input, if it is neither the success status nor 422. */
  bare?: number
}

const row =
  (auth: Auth) =>
  (method: Row['method'], path: string, success: number, input: 'input' | 'plain'): Row => ({
    method,
    path,
    auth,
    success,
    input: input === 'input',
  })

const open = row('none')
const bearer = row('bearer')

/** The 63 operations of the specification, in its order. */
export const SPECIFIED: readonly Row[] = [
  bearer('GET', '/api/admin/audit', 200, 'input'),
  bearer('POST', '/api/admin/backup/create', 200, 'input'),
  bearer('GET', '/api/admin/backup/download/{backup_id}', 200, 'input'),
  bearer('GET', '/api/admin/backup/list', 200, 'plain'),
  bearer('POST', '/api/admin/backup/restore', 200, 'input'),
  bearer('GET', '/api/admin/backup/status/{job_id}', 200, 'input'),
  bearer('DELETE', '/api/admin/backup/{backup_id}', 200, 'input'),
  bearer('POST', '/api/admin/cache/cleanup', 200, 'plain'),
  bearer('POST', '/api/admin/cache/invalidate', 200, 'input'),
  bearer('GET', '/api/admin/cache/stats', 200, 'plain'),
  bearer('POST', '/api/admin/cache/warmup', 200, 'input'),
  bearer('GET', '/api/admin/departments', 200, 'input'),
  bearer('POST', '/api/admin/departments', 201, 'input'),
  bearer('PUT', '/api/admin/departments/{dept_id}', 200, 'input'),
  bearer('DELETE', '/api/admin/departments/{dept_id}', 204, 'input'),
  bearer('POST', '/api/admin/encryption/rotate', 200, 'input'),
  bearer('GET', '/api/admin/health', 200, 'plain'),
  bearer('POST', '/api/admin/self-healing/confirm/{fix_id}', 200, 'input'),
  bearer('GET', '/api/admin/self-healing/fixes', 200, 'plain'),
  bearer('DELETE', '/api/admin/self-healing/fixes/{fix_id}', 204, 'input'),
  bearer('POST', '/api/admin/self-healing/seed-fixes', 200, 'input'),
  bearer('GET', '/api/admin/self-healing/stats', 200, 'plain'),
  bearer('GET', '/api/admin/tenants', 200, 'input'),
  bearer('POST', '/api/admin/tenants', 201, 'input'),
  bearer('GET', '/api/admin/tenants/{tenant_id}', 200, 'input'),
  bearer('PUT', '/api/admin/tenants/{tenant_id}', 200, 'input'),
  bearer('DELETE', '/api/admin/tenants/{tenant_id}', 204, 'input'),
  bearer('GET', '/api/admin/users', 200, 'input'),
  bearer('POST', '/api/admin/users', 201, 'input'),
  bearer('DELETE', '/api/admin/users/{user_id}', 204, 'input'),
  bearer('POST', '/api/admin/users/{user_id}/block', 200, 'input'),
  bearer('POST', '/api/admin/users/{user_id}/unblock', 200, 'input'),
  bearer('PUT', '/api/admin/users/{user_id}/password', 200, 'input'),
  bearer('PUT', '/api/admin/users/{user_id}/role', 200, 'input'),

  bearer('POST', '/api/messenger/link', 200, 'input'),
  bearer('DELETE', '/api/messenger/link', 200, 'plain'),
  bearer('GET', '/api/messenger/status', 200, 'plain'),
  bearer('POST', '/api/messenger/subscribe', 200, 'input'),
  bearer('GET', '/api/users/me', 200, 'plain'),

  open('GET', '/api/auth/capabilities', 200, 'plain'),
  open('GET', '/api/auth/departments', 200, 'input'),
  open('POST', '/api/auth/login', 200, 'input'),
  bearer('POST', '/api/auth/logout', 200, 'input'),
  bearer('GET', '/api/auth/me', 200, 'plain'),
  open('POST', '/api/auth/refresh', 200, 'input'),
  open('POST', '/api/auth/register', 201, 'input'),
  open('POST', '/api/auth/request-reset', 202, 'input'),
  open('POST', '/api/auth/resend-verification', 202, 'input'),
  open('POST', '/api/auth/reset-password', 200, 'input'),
  bearer('GET', '/api/auth/sessions', 200, 'plain'),
  bearer('DELETE', '/api/auth/sessions/{jti}', 200, 'input'),
  open('GET', '/api/auth/tenants', 200, 'plain'),
  open('POST', '/api/auth/verify-email', 200, 'input'),
  bearer('GET', '/api/preferences', 200, 'plain'),
  bearer('PUT', '/api/preferences', 200, 'input'),
  bearer('PUT', '/api/preferences/theme', 200, 'input'),

  bearer('GET', '/api/webhooks', 200, 'plain'),
  bearer('POST', '/api/webhooks/register', 201, 'input'),
  bearer('PUT', '/api/webhooks/{webhook_id}', 200, 'input'),
  bearer('DELETE', '/api/webhooks/{webhook_id}', 204, 'input'),
  bearer('POST', '/api/webhooks/{webhook_id}/test', 200, 'input'),

  // The service rejects unsigned requests and invalid bodies without processing them.
  { ...open('POST', '/webhooks/cardnet', 200, 'input'), bare: 400 },
  { ...open('POST', '/webhooks/paygate', 200, 'plain'), bare: 400 },
]

/** Operations of the service beyond the specified ones. */
export const ADDED: readonly Row[] = [
  bearer('POST', '/api/admin/tenants/{tenant_id}/restore', 200, 'input'),
  bearer('GET', '/api/admin/audit/actions', 200, 'plain'),
  bearer('GET', '/api/admin/audit/heads', 200, 'plain'),
  bearer('GET', '/api/admin/audit/verify', 200, 'input'),
  bearer('POST', '/api/admin/audit/verify', 202, 'input'),
  bearer('GET', '/api/admin/audit/proof/{entry_id}', 200, 'input'),
  bearer('GET', '/api/admin/audit/log/{tenant_id}/checkpoint', 200, 'input'),
  bearer('GET', '/api/admin/audit/log/{tenant_id}/tile/{tile}', 200, 'input'),
  bearer('GET', '/api/admin/audit/export', 200, 'input'),
  bearer('GET', '/api/admin/departments/{dept_id}', 200, 'input'),
  bearer('GET', '/api/admin/overview', 200, 'input'),
  bearer('GET', '/api/admin/stats', 200, 'input'),
  bearer('POST', '/api/admin/backup/drill/{backup_id}', 202, 'input'),
  bearer('POST', '/api/admin/downloads', 201, 'input'),
  { ...open('GET', '/api/admin/downloads/{ticket}', 200, 'input'), bare: 404 },
  bearer('GET', '/api/admin/jobs', 200, 'input'),
  bearer('GET', '/api/admin/jobs/{job_id}', 200, 'input'),
  bearer('DELETE', '/api/admin/jobs/{job_id}', 204, 'input'),
  bearer('GET', '/api/admin/users/{user_id}', 200, 'input'),
  bearer('PUT', '/api/admin/users/{user_id}', 200, 'input'),
  bearer('POST', '/api/admin/users/{user_id}/invitation', 200, 'input'),
  bearer('DELETE', '/api/admin/users/{user_id}/totp', 204, 'input'),
  bearer('GET', '/api/admin/users/{user_id}/sessions', 200, 'input'),
  bearer('DELETE', '/api/admin/users/{user_id}/sessions', 200, 'input'),
  bearer('DELETE', '/api/admin/users/{user_id}/sessions/{jti}', 204, 'input'),
  bearer('PUT', '/api/users/me/password', 200, 'input'),
  bearer('POST', '/api/auth/totp/setup', 200, 'input'),
  bearer('POST', '/api/auth/totp/enable', 200, 'input'),
  bearer('POST', '/api/auth/totp/disable', 200, 'input'),
  open('POST', '/api/console/session', 200, 'input'),
  open('POST', '/api/console/session/refresh', 200, 'input'),
  open('DELETE', '/api/console/session', 204, 'input'),
  bearer('POST', '/api/console/session/confirm', 200, 'input'),
  open('GET', '/api/console/welcome', 200, 'plain'),
  bearer('GET', '/api/webhooks/events', 200, 'plain'),
  bearer('GET', '/api/webhooks/stats', 200, 'plain'),
  bearer('GET', '/api/webhooks/{webhook_id}', 200, 'input'),
  bearer('GET', '/api/webhooks/{webhook_id}/deliveries', 200, 'input'),
  bearer('GET', '/api/webhooks/{webhook_id}/deliveries/{delivery_id}', 200, 'input'),
  bearer('GET', '/api/webhooks/{webhook_id}/replay', 200, 'input'),
  bearer('GET', '/api/webhooks/{webhook_id}/replays', 200, 'input'),
  bearer('POST', '/api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry', 200, 'input'),
  bearer('POST', '/api/webhooks/{webhook_id}/replay', 202, 'input'),
  bearer('GET', '/api/webhooks/{webhook_id}/replays/{replay_id}', 200, 'input'),
  bearer('DELETE', '/api/webhooks/{webhook_id}/replays/{replay_id}', 204, 'input'),
  bearer('DELETE', '/api/webhooks/{webhook_id}/secrets/previous', 204, 'input'),
  bearer('GET', '/api/admin/payments', 200, 'input'),
  bearer('GET', '/api/admin/payments/stats', 200, 'input'),
  bearer('GET', '/api/admin/payments/{payment_id}', 200, 'input'),
  bearer('GET', '/api/admin/payment-notifications', 200, 'input'),
  bearer('GET', '/api/admin/payment-notifications/{notification_id}', 200, 'input'),
  bearer('POST', '/api/admin/payment-notifications/{notification_id}/process', 200, 'input'),
  bearer('POST', '/api/admin/payment-notifications/discard', 200, 'input'),
  bearer('GET', '/api/patients', 200, 'input'),
  bearer('POST', '/api/patients', 201, 'input'),
  bearer('POST', '/api/patients/search', 200, 'input'),
  bearer('POST', '/api/patients/break-glass', 200, 'input'),
  bearer('GET', '/api/patients/{patient_id}', 200, 'input'),
  bearer('PUT', '/api/patients/{patient_id}', 200, 'input'),
  bearer('DELETE', '/api/patients/{patient_id}', 204, 'input'),
  bearer('POST', '/api/patients/{patient_id}/restore', 200, 'input'),
  bearer('GET', '/api/patients/{patient_id}/accesses', 200, 'input'),
  bearer('GET', '/api/patients/{patient_id}/export', 200, 'input'),
  bearer('GET', '/api/admin/encryption/status', 200, 'plain'),
  bearer('GET', '/api/admin/encryption/keys', 200, 'plain'),
  bearer('POST', '/api/admin/self-healing/scan', 202, 'plain'),
  // The path exists only with a bot that uses a webhook, not with a bot that polls for updates.
  { ...open('POST', '/webhooks/messenger', 200, 'input'), bare: 404 },
  open('GET', '/.well-known/jwks.json', 200, 'plain'),
  open('GET', '/healthz', 200, 'plain'),
  open('GET', '/readyz', 200, 'plain'),
  open('GET', '/openapi.json', 200, 'plain'),
]

/** Returns `METHOD path`, the key for comparing rows, routes and operations. */
export const nameOf = (op: { method: string; path: string }): string => `${op.method} ${op.path}`

/** All rows. */
export const BUILT: readonly Row[] = [...SPECIFIED, ...ADDED]
