/** The fields of each response are those of the specification and the decided additions, and no others. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openWalkable, walk } from './walk.ts'
import type { Step } from './walk-scene.ts'
import {
  DELIVERY,
  type Fields,
  type Kind,
  REPLAY,
  REPLAY_PREVIEW,
  TEST_RESULT,
  WEBHOOK,
  WEBHOOK_DETAILS,
  WEBHOOK_STATS,
} from './webhook-fields.ts'

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

const TENANT: Fields = {
  id: 'integer',
  name: 'string',
  subdomain: 'string',
  settings: 'object',
  is_active: 'boolean',
  created_at: 'time',
}
const DEPARTMENT: Fields = {
  id: 'integer',
  tenant_id: 'integer',
  name: 'string',
  head_doctor_id: ['integer', 'null'],
  head_doctor_name: ['string', 'null'],
  members: 'integer',
  created_at: 'time',
}
const LISTED_TENANT: Fields = {
  ...TENANT,
  deleted_at: ['time', 'null'],
  restorable_until: ['time', 'null'],
}
const USER: Fields = {
  id: 'integer',
  email: 'string',
  full_name: 'string',
  role: 'string',
  tenant_id: 'integer',
  department_id: ['integer', 'null'],
  department_name: ['string', 'null'],
  can_see_all_patients: 'boolean',
  is_active: 'boolean',
  status: 'string',
  email_verified: 'boolean',
  totp_enabled: 'boolean',
  must_change_password: 'boolean',
  created_at: 'time',
  last_login_at: ['time', 'null'],
}
const OWN_PROFILE: Fields = { ...USER, idle_minutes: 'integer' }
const SESSION: Fields = {
  jti: 'string',
  created_at: 'integer',
  ip: 'string',
  user_agent: 'string',
  last_used_at: 'time',
  current: 'boolean',
}
const TOKENS: Fields = {
  access_token: 'string',
  refresh_token: 'string',
  token_type: 'string',
  expires_in: 'integer',
  tenant_id: 'integer',
  role: 'string',
  user_id: 'integer',
  full_name: 'string',
  demo_mode: 'boolean',
  enrolment_required: 'boolean',
  password_change_required: 'boolean',
}
const { refresh_token: _kept, ...SHOWN } = TOKENS
const CONSOLE_TOKENS: Fields = { ...SHOWN, idle_minutes: 'integer' }
const TOTP_SETUP: Fields = { secret: 'string', otpauth_url: 'string', qr_svg: 'string' }
const MESSAGE: Fields = { detail: 'string', email_verified: ['boolean', 'null'] }
const CAPABILITIES: Fields = {
  password_reset_available: 'boolean',
  fhir_enabled: 'boolean',
  siem_export_enabled: 'boolean',
  messenger_bot_enabled: 'boolean',
  registration_available: 'boolean',
  totp_available: 'boolean',
  tenant_mode: 'boolean',
  demo_mode: 'boolean',
}
const HEALTH: Fields = {
  status: 'string',
  tenant_mode: 'boolean',
  encryption_enabled: 'boolean',
  tenants_count: 'integer',
  users_count: 'integer',
  patients_count: 'integer',
  version: 'string',
  uptime_seconds: 'integer',
  database: 'object',
  checks: 'object',
  components: 'array',
}
const OVERVIEW: Fields = {
  as_of: 'time',
  tenant_id: ['integer', 'null'],
  attention: 'object',
  counts: 'object',
  health: 'object',
  missing: 'array',
}
const COUNTS: Fields = {
  as_of: 'time',
  tenant_id: ['integer', 'null'],
  bucket: 'string',
  time_zone: 'string',
  buckets: 'array',
  series: 'array',
}
const PREFERENCES: Fields = { theme: 'string', settings: 'object', updated_at: ['time', 'null'] }
const ENTRY: Fields = {
  id: 'integer',
  tenant_id: ['integer', 'null'],
  user_id: ['integer', 'null'],
  user_name: ['string', 'null'],
  user_email: ['string', 'null'],
  action: 'string',
  resource_type: 'string',
  resource_id: ['string', 'null'],
  resource_name: ['string', 'null'],
  changes: ['object', 'null'],
  ip: ['string', 'null'],
  user_agent: ['string', 'null'],
  request_id: ['string', 'null'],
  created_at: 'time',
}
const JOB: Fields = {
  job_id: 'string',
  kind: 'string',
  tenant_id: ['integer', 'null'],
  subject_id: ['string', 'null'],
  status: 'string',
  phase: ['string', 'null'],
  done: ['integer', 'null'],
  total: ['integer', 'null'],
  unit: 'string',
  rate: ['number', 'integer', 'null'],
  error: ['string', 'null'],
  result: ['object', 'null'],
  created_by: ['integer', 'null'],
  created_by_email: ['string', 'null'],
  created_at: 'time',
  started_at: ['time', 'null'],
  progressed_at: ['time', 'null'],
  finished_at: ['time', 'null'],
  can_cancel: 'boolean',
}
const AUDIT_ACTION: Fields = {
  action: 'string',
  meaning: 'string',
  group: 'string',
  resource_type: 'string',
}
const AUDIT_HEADS: Fields = { key: 'string', former_keys: 'array', items: 'array' }
const ENTRY_PROOF: Fields = {
  entry: 'object',
  salts: 'object',
  leaf: 'string',
  origin: 'string',
  index: 'integer',
  size: 'integer',
  hashes: 'array',
  checkpoint: 'string',
  proof: 'string',
}
const LIST: Fields = {
  items: 'array',
  total: 'integer',
  page: 'integer',
  limit: 'integer',
  pages: 'integer',
  next: ['string', 'null'],
}

const MESSENGER: Fields = {
  enabled: 'boolean',
  linked: 'boolean',
  username: ['string', 'null'],
  linked_at: ['time', 'null'],
  events: 'array',
  available_events: 'array',
  bot_username: ['string', 'null'],
}

const RECORDS: [name: string, fields: Fields][] = [
  ['POST /api/admin/tenants', TENANT],
  ['GET /api/admin/tenants/{tenant_id}', TENANT],
  ['PUT /api/admin/tenants/{tenant_id}', TENANT],
  ['POST /api/admin/tenants/{tenant_id}/restore', TENANT],
  ['POST /api/admin/departments', DEPARTMENT],
  ['GET /api/admin/departments/{dept_id}', DEPARTMENT],
  ['PUT /api/admin/departments/{dept_id}', DEPARTMENT],
  ['POST /api/admin/users', USER],
  ['GET /api/admin/users/{user_id}', USER],
  ['PUT /api/admin/users/{user_id}', USER],
  ['POST /api/admin/users/{user_id}/block', USER],
  ['POST /api/admin/users/{user_id}/unblock', USER],
  ['PUT /api/admin/users/{user_id}/role', USER],
  ['GET /api/auth/me', OWN_PROFILE],
  ['GET /api/users/me', OWN_PROFILE],
  ['POST /api/auth/login', TOKENS],
  ['POST /api/auth/refresh', TOKENS],
  ['POST /api/console/session', CONSOLE_TOKENS],
  ['POST /api/console/session/refresh', CONSOLE_TOKENS],
  ['POST /api/console/session/confirm', { confirmed_until: 'time' }],
  ['POST /api/auth/logout', MESSAGE],
  ['POST /api/auth/register', USER],
  ['POST /api/auth/resend-verification', MESSAGE],
  ['POST /api/auth/verify-email', MESSAGE],
  ['POST /api/auth/request-reset', MESSAGE],
  ['POST /api/auth/reset-password', MESSAGE],
  ['POST /api/auth/totp/setup', TOTP_SETUP],
  ['POST /api/auth/totp/enable', { recovery_codes: 'array' }],
  ['POST /api/auth/totp/disable', MESSAGE],
  ['DELETE /api/auth/sessions/{jti}', MESSAGE],
  ['DELETE /api/admin/users/{user_id}/sessions', { ended: 'integer' }],
  ['GET /api/auth/capabilities', CAPABILITIES],
  ['GET /api/admin/health', HEALTH],
  ['GET /api/admin/overview', OVERVIEW],
  ['GET /api/admin/stats', COUNTS],
  ['GET /api/preferences', PREFERENCES],
  ['PUT /api/preferences', PREFERENCES],
  ['PUT /api/preferences/theme', PREFERENCES],
  ['GET /api/messenger/status', MESSENGER],
  ['DELETE /api/messenger/link', MESSENGER],
  ['POST /api/messenger/subscribe', MESSENGER],
  ['POST /api/webhooks/register', { ...WEBHOOK, secret: 'string' }],
  ['PUT /api/webhooks/{webhook_id}', WEBHOOK],
  ['GET /api/webhooks/{webhook_id}', WEBHOOK_DETAILS],
  [
    'GET /api/webhooks/{webhook_id}/deliveries/{delivery_id}',
    { ...DELIVERY, request_headers: 'object', request_body: ['string', 'null'] },
  ],
  ['GET /api/webhooks/{webhook_id}/replay', REPLAY_PREVIEW],
  ['POST /api/webhooks/{webhook_id}/test', TEST_RESULT],
  ['POST /api/webhooks/{webhook_id}/deliveries/{delivery_id}/retry', DELIVERY],
  ['POST /api/webhooks/{webhook_id}/replay', REPLAY],
  ['GET /api/webhooks/{webhook_id}/replays/{replay_id}', REPLAY],
  ['GET /api/admin/jobs/{job_id}', JOB],
  ['GET /api/admin/audit/heads', AUDIT_HEADS],
  ['GET /api/admin/audit/proof/{entry_id}', ENTRY_PROOF],
  ['GET /api/admin/audit/verify', { items: 'array' }],
  ['POST /api/admin/audit/verify', { items: 'array' }],
  ['POST /api/admin/self-healing/scan', { job_id: 'string', started: 'boolean' }],
  [
    'GET /api/admin/payments/stats',
    { from: 'time', max_per_tenant: 'integer', providers: 'array', items: 'array' },
  ],
  [
    'GET /api/admin/encryption/keys',
    {
      root_key: 'object',
      key_encryption_key: 'object',
      data_keys: 'object',
      records_on_old_keys: 'integer',
    },
  ],
]
const ARRAYS: [name: string, fields: Fields][] = [
  ['GET /api/admin/audit/actions', AUDIT_ACTION],
  ['GET /api/admin/tenants', LISTED_TENANT],
  ['GET /api/auth/sessions', SESSION],
  ['GET /api/admin/users/{user_id}/sessions', SESSION],
  ['GET /api/auth/tenants', { id: 'integer', name: 'string', subdomain: 'string' }],
  ['GET /api/auth/departments', { id: 'integer', name: 'string' }],
  ['GET /api/webhooks', WEBHOOK],
  ['GET /api/webhooks/stats', { webhook_id: 'integer', ...WEBHOOK_STATS }],
  ['GET /api/webhooks/{webhook_id}/replays', REPLAY],
  ['GET /api/webhooks/events', { name: 'string', description: 'string', example: 'object' }],
]
const PAGES: [name: string, fields: Fields][] = [
  ['GET /api/admin/departments', DEPARTMENT],
  ['GET /api/admin/users', USER],
  ['GET /api/admin/audit', ENTRY],
  ['GET /api/admin/jobs', JOB],
  ['GET /api/webhooks/{webhook_id}/deliveries', DELIVERY],
]

function kindOf(value: unknown): Kind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value)) return 'integer'
  if (typeof value === 'string' && TIMESTAMP.test(value)) return 'time'
  return typeof value as Kind
}

/** Returns the kind of each field. If the value matches one of the expected kinds, returns the expected kinds. */
function kindsOf(record: Record<string, unknown>, fields: Fields): Fields {
  const told = Object.entries(record).map(([name, value]) => {
    const [kind, allowed] = [kindOf(value), fields[name]]
    return [name, [allowed].flat().includes(kind) ? allowed : kind]
  })
  return Object.fromEntries(told)
}

let steps: Step[]

beforeAll(async () => {
  steps = await walk(await openWalkable())
})

const bodyOf = (name: string) => steps.find((step) => step.name === name)?.answer.body

describe('a response has exactly its documented fields:', () => {
  test.each(RECORDS)('%s', (name, fields) => {
    expect(kindsOf(bodyOf(name), fields)).toEqual(fields)
  })

  test.each(ARRAYS)('%s, in each element of the list', (name, fields) => {
    const list: Record<string, unknown>[] = bodyOf(name)
    expect(list.length).toBeGreaterThan(0)
    for (const record of list) expect(kindsOf(record, fields)).toEqual(fields)
  })

  test.each(PAGES)('%s, in the page and in each item', (name, fields) => {
    const page = bodyOf(name)
    expect(kindsOf(page, LIST)).toEqual(LIST)
    expect(page.items.length).toBeGreaterThan(0)
    for (const record of page.items) expect(kindsOf(record, fields)).toEqual(fields)
  })
})

describe('a response never contains', () => {
  test('a password, its hash or a token, except in responses that issue tokens', () => {
    for (const { name, answer } of steps) {
      const text = JSON.stringify(answer.body ?? null)
      if (name === 'GET /openapi.json') continue
      expect([name, /argon2|password_hash|sealed_secret|Secret-|Horse-/.test(text)]).toEqual([
        name,
        false,
      ])
      const hasTokens =
        /^POST \/api\/(auth\/login|auth\/refresh|console\/session(\/refresh)?)$/.test(name)
      expect([name, /"(access|refresh)_token"/.test(text)]).toEqual([name, hasTokens])
    }
  })
})
