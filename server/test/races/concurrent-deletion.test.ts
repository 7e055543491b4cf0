/** Records that are deleted while a command on them runs. The command returns a declared answer, never 500. */
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { statusesOf } from '../../src/platform/http/refusals.ts'
import { jtiOf, newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, type CallOptions, openService, type Service } from '../support/service.ts'
import { LEFT_OUT } from './without-pair.ts'

let service: Service
let root: Person

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
})

type Command = [method: string, path: string, options: CallOptions]
/** Makes the command for a scene, after preparing the scene. */
type Maker = (scene: Scene) => Command | Promise<Command>

interface Scene {
  clinic: Clinic
  /** The user who is deleted, signed in. */
  victim: Person
  departmentId: number
  webhookId: number
  patientId: number
}

const RECORDS = {
  users: ({ victim }: Scene) => victim.id,
  departments: ({ departmentId }: Scene) => departmentId,
  webhooks: ({ webhookId }: Scene) => webhookId,
  patients: ({ patientId }: Scene) => patientId,
  tenants: ({ clinic }: Scene) => clinic.id,
}

/** The table from which the record is deleted, and the command that runs on it at the same time. */
const PAIRS: Record<string, [table: keyof typeof RECORDS, command: Maker]> = {
  updatePreferences: ['users', own('PUT', '/api/preferences', { theme: 'dark' })],
  updateTheme: ['users', own('PUT', '/api/preferences/theme', { theme: 'dark' })],
  updateUser: ['users', onVictim('PUT', '', { full_name: 'Other' })],
  inviteUser: [
    'users',
    behind(onVictim('PUT', '', { email: 'passing@elsewhere.test' }), () =>
      onVictim('POST', '/invitation'),
    ),
  ],
  changeUserRole: ['users', onVictim('PUT', '/role', { role: 'doctor' })],
  resetUserPassword: ['users', onVictim('PUT', '/password', { password: 'a-Fine-Secret-8' })],
  blockUser: ['users', onVictim('POST', '/block')],
  deleteUser: ['users', onVictim('DELETE', '')],
  logout: ['users', own('POST', '/api/auth/logout', {})],
  unblockUser: ['users', behind(onVictim('POST', '/block'), () => onVictim('POST', '/unblock'))],
  removeUserTotp: ['users', onVictim('DELETE', '/totp')],
  endUserSessions: ['users', onVictim('DELETE', '/sessions')],
  endUserSession: [
    'users',
    (scene) => onVictim('DELETE', `/sessions/${jtiOf(scene.victim.token)}`)(scene),
  ],
  changeOwnPassword: [
    'users',
    own('PUT', '/api/users/me/password', {
      current_password: PASSWORD,
      new_password: 'a-Fine-Secret-8',
    }),
  ],
  setUpTotp: ['users', own('POST', '/api/auth/totp/setup', { password: PASSWORD })],
  enableTotp: [
    'users',
    behind(own('POST', '/api/auth/totp/setup', { password: PASSWORD }), () =>
      own('POST', '/api/auth/totp/enable', { code: '000000' }),
    ),
  ],
  disableTotp: ['users', own('POST', '/api/auth/totp/disable', { password: PASSWORD })],
  revokeSession: [
    'users',
    ({ victim: { token } }) => ['DELETE', `/api/auth/sessions/${jtiOf(token)}`, { token }],
  ],
  refreshTokens: [
    'users',
    ({ victim }) => ['POST', '/api/auth/refresh', { body: { refresh_token: victim.refresh } }],
  ],
  login: ['users', ofVictim('/api/auth/login', { password: PASSWORD })],
  signInToConsole: ['users', ofVictim('/api/console/session', { password: PASSWORD })],
  refreshConsoleSession: ['users', inConsole('POST', '/api/console/session/refresh')],
  signOutOfConsole: ['users', inConsole('DELETE', '/api/console/session')],
  confirmConsoleSession: ['users', inConsole('POST', '/api/console/session/confirm')],
  requestReset: ['users', ofVictim('/api/auth/request-reset')],
  resendVerification: ['users', ofVictim('/api/auth/resend-verification')],
  unlinkMessenger: ['users', own('DELETE', '/api/messenger/link')],
  subscribeMessenger: ['users', own('POST', '/api/messenger/subscribe', { events: [] })],
  createUser: [
    'departments',
    byAdmin('POST', '/api/admin/users', ({ departmentId }) => ({
      email: 'somebody@pairs.test',
      password: 'a-Fine-Secret-8',
      full_name: 'Somebody',
      role: 'nurse',
      department_id: departmentId,
    })),
  ],
  register: [
    'departments',
    behind(onTenant('PUT', { settings: { registration: 'open' } }), () => (scene) => [
      'POST',
      '/api/auth/register',
      {
        body: {
          email: 'registered@pairs.test',
          password: 'a-Fine-Secret-8',
          full_name: 'Somebody',
          role: 'nurse',
          subdomain: scene.clinic.subdomain,
          department_id: scene.departmentId,
        },
      },
    ]),
  ],
  updateDepartment: ['departments', onDepartment('PUT', { name: 'Other' })],
  deleteDepartment: ['departments', onDepartment('DELETE')],
  createDepartment: ['tenants', byAdmin('POST', '/api/admin/departments', () => ({ name: 'New' }))],
  updateTenant: ['tenants', onTenant('PUT', { name: 'Other' })],
  deleteTenant: ['tenants', onTenant('DELETE')],
  registerWebhook: [
    'tenants',
    byAdmin('POST', '/api/webhooks/register', () => ({
      url: 'http://127.0.0.1:9/',
      events: ['*'],
    })),
  ],
  replayWebhook: [
    'webhooks',
    onWebhook('POST', '/replay', { since: new Date().toISOString().slice(0, 10) }),
  ],
  updateWebhook: ['webhooks', onWebhook('PUT', '', { secret: 'raw-secret-of-a-receiver' })],
  testWebhook: ['webhooks', onWebhook('POST', '/test')],
  deleteWebhook: ['webhooks', onWebhook('DELETE', '')],
  withdrawWebhookSecrets: [
    'webhooks',
    behind(onWebhook('PUT', '', { secret: 'raw-secret-of-a-receiver' }), () =>
      onWebhook('DELETE', '/secrets/previous'),
    ),
  ],
  cancelWebhookReplay: [
    'webhooks',
    behind(
      onWebhook('POST', '/replay', { since: new Date().toISOString().slice(0, 10) }),
      ({ id }) => onWebhook('DELETE', `/replays/${id}`),
    ),
  ],
  retryWebhookDelivery: [
    'webhooks',
    behind(onWebhook('POST', '/test'), () =>
      behind(onWebhook('GET', '/deliveries'), ({ items: [{ id }] }) =>
        onWebhook('POST', `/deliveries/${id}/retry`),
      ),
    ),
  ],
  createPatient: [
    'departments',
    byAdmin('POST', '/api/patients', ({ departmentId }) => ({
      full_name: 'New',
      department_id: departmentId,
    })),
  ],
  updatePatient: ['patients', onPatient('PUT', { phone: '1' })],
  deletePatient: ['patients', onPatient('DELETE')],
  restorePatient: [
    'patients',
    behind(onPatient('DELETE'), () => about('/api/patients', RECORDS.patients)('POST', '/restore')),
  ],
  invalidateCache: [
    'patients',
    byAdmin('POST', '/api/admin/cache/invalidate', ({ patientId }) => ({ patient_id: patientId })),
  ],
  warmUpCache: [
    'patients',
    byAdmin('POST', '/api/admin/cache/warmup', ({ patientId }) => ({ patient_ids: [patientId] })),
  ],
  breakGlass: [
    'patients',
    ({ clinic, patientId }) => [
      'POST',
      '/api/patients/break-glass',
      {
        token: clinic.people.doctor.token,
        body: { patient_id: patientId, purpose: 'other', reason: 'it was asked for' },
      },
    ],
  ],
}

/** Builds a command from the answer to the command of `first`. */
function behind(first: Maker, then: (made: any) => Maker): Maker {
  return async (scene) => {
    const { status, body } = await service.call(...(await first(scene)))
    if (status >= 300) throw new Error(`what comes first answered ${status}`)
    return then(body)(scene)
  }
}

function own(method: string, path: string, body?: object): (scene: Scene) => Command {
  return ({ victim }) => [method, path, { token: victim.token, ...(body ? { body } : {}) }]
}

/** Builds a call that any caller can make who knows the victim's address. */
function ofVictim(path: string, more: object = {}): (scene: Scene) => Command {
  return ({ victim: { email }, clinic: { subdomain } }) => [
    'POST',
    path,
    { body: { email, subdomain, ...more } },
  ]
}

/** Builds a call that the victim makes in a console session, with its cookie, its access token and the password. */
function inConsole(method: string, path: string): Maker {
  return async ({ victim: { email }, clinic: { subdomain } }) => {
    const body = { email, subdomain, password: PASSWORD }
    const signedIn = await service.call('POST', '/api/console/session', { body })
    const [cookie = ''] = String(signedIn.headers['set-cookie']).split(';')
    return [method, path, { token: signedIn.body.access_token, body, headers: { cookie } }]
  }
}

function onTenant(method: string, body?: object): (scene: Scene) => Command {
  return ({ clinic }) => [
    method,
    `/api/admin/tenants/${clinic.id}`,
    { token: root.token, ...(body ? { body } : {}) },
  ]
}

function byAdmin(method: string, path: string, bodyOf: (scene: Scene) => object) {
  return (scene: Scene): Command => [
    method,
    path,
    { token: scene.clinic.people.admin.token, body: bodyOf(scene) },
  ]
}

function about(prefix: string, idOf: (scene: Scene) => number) {
  return (method: string, path: string, body?: object) =>
    (scene: Scene): Command => [
      method,
      `${prefix}/${idOf(scene)}${path}`,
      { token: scene.clinic.people.admin.token, ...(body ? { body } : {}) },
    ]
}

function onVictim(method: string, path: string, body?: object) {
  return about('/api/admin/users', RECORDS.users)(method, path, body)
}
function onDepartment(method: string, body?: object) {
  return about('/api/admin/departments', RECORDS.departments)(method, '', body)
}
function onPatient(method: string, body?: object) {
  return about('/api/patients', RECORDS.patients)(method, '', body)
}
function onWebhook(method: string, path: string, body?: object) {
  return about('/api/webhooks', RECORDS.webhooks)(method, path, body)
}

let scenes = 0

async function newScene(): Promise<Scene> {
  scenes += 1
  const clinic = await makeClinic(service, root, `pairs-${scenes}`)
  const { token } = clinic.people.admin
  const make = async (path: string, body: object): Promise<number> =>
    (await service.call('POST', path, { token, body })).body.id
  return {
    clinic,
    victim: await newColleague(service, clinic),
    departmentId: await make('/api/admin/departments', { name: 'Passing' }),
    webhookId: await make('/api/webhooks/register', { url: 'http://127.0.0.1:9/', events: ['*'] }),
    patientId: await make('/api/patients', {
      full_name: 'Paula',
      department_id: clinic.departmentId,
    }),
  }
}

const deletion = (table: string) => `delete from ${table} where id = $1`

/**
 * Changes the record in a transaction that stays open until the command has finished or waits for the transaction. The
 * command then continues with a record that has been changed or deleted.
 */
async function whileChanged(change: string, id: number, command: () => Promise<Answer>) {
  const other = new pg.Client({ connectionString: service.database.url })
  await other.connect()
  try {
    // Defers the constraints as the purge does, which deletes the rows of a tenant and their data keys in any order.
    await other.query('begin; set constraints all deferred')
    await other.query(change, [id])
    let isThrough = false
    const answering = command().finally(() => {
      isThrough = true
    })
    await expect
      .poll(async () => isThrough || (await waiters()) > 0, { timeout: 15_000 })
      .toBe(true)
    await other.query('commit')
    return await answering
  } finally {
    await other.end()
  }
}

async function waiters(): Promise<number> {
  const waiting = await service.database.sql(
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return waiting.length
}

test('the table of this test lists each writing operation, or excludes it with a reason', () => {
  const writing = service.app.operations.filter(({ method, isRead }) => method !== 'GET' && !isRead)
  const known = [...Object.keys(PAIRS), ...Object.keys(LEFT_OUT)]
  expect(known.sort()).toEqual(writing.map(({ id }) => id).sort())
})

test.each([
  ['deleted', deletion('webhooks'), 404],
  [
    'deactivated',
    "update webhooks set is_active = false, disabled_reason = 'admin' where id = $1",
    409,
  ],
])(
  'a manual retry queues no delivery if the webhook is concurrently %s',
  async (_, change, status) => {
    const scene = await newScene()
    const [, pair] = PAIRS.retryWebhookDelivery as (typeof PAIRS)[string]
    const command = await pair(scene)
    const answer = await whileChanged(change, scene.webhookId, () => service.call(...command))
    expect(answer.status).toBe(status)
    const retried = await service.database.sql(
      "select from journal where action = 'webhook.delivery_retried' and tenant_id = $1",
      [scene.clinic.id],
    )
    expect(retried).toEqual([])
  },
)

describe('a request whose record is deleted at the same time', () => {
  test.each(Object.entries(PAIRS))(
    'gets a response that the operation declares: %s',
    async (id, [table, pair]) => {
      const scene = await newScene()
      const op = service.app.operations.find((operation) => operation.id === id)
      const command = await pair(scene)
      const answer = await whileChanged(deletion(table), RECORDS[table](scene), () =>
        service.call(...command),
      )
      expect(op && statusesOf(op)).toContain(answer.status)
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500)
    },
  )

  test.each(['updatePreferences', 'replayWebhook'])(
    'gets a response that the operation declares, in either order of %s and the deletion',
    async (id) => {
      const [table, pair] = PAIRS[id] as (typeof PAIRS)[string]
      const op = service.app.operations.find((operation) => operation.id === id)
      for (let round = 0; round < 4; round += 1) {
        const scene = await newScene()
        const remove = table === 'users' ? onVictim('DELETE', '') : onWebhook('DELETE', '')
        const answers = await Promise.all(
          [remove, pair].map(async (command) => service.call(...(await command(scene)))),
        )
        expect(answers[0]?.status).toBe(204)
        expect(op && statusesOf(op)).toContain(answers[1]?.status)
        expect(answers[1]?.status).toBeLessThan(500)
      }
    },
  )
})
