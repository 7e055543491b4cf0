/** A record that is deleted while a command on it runs: the command is answered as it declares, never 500. */
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { statusesOf } from '../../src/platform/http/operation.ts'
import { newColleague } from '../sessions/users.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { type Answer, type CallOptions, openService, type Service } from '../support/service.ts'

let service: Service
let root: Person

beforeAll(async () => {
  service = await openService({ role: 'api' })
  root = await superadmin(service)
})

type Command = [method: string, path: string, options: CallOptions]

interface Scene {
  clinic: Clinic
  /** The one who is deleted, signed in. */
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

/** The table that the record is deleted from, and the command that is about it meanwhile. */
const PAIRS: Record<string, [table: keyof typeof RECORDS, command: (scene: Scene) => Command]> = {
  updatePreferences: ['users', own('PUT', '/api/preferences', { theme: 'dark' })],
  updateTheme: ['users', own('PUT', '/api/preferences/theme', { theme: 'dark' })],
  updateUser: ['users', onVictim('PUT', '', { full_name: 'Other' })],
  changeUserRole: ['users', onVictim('PUT', '/role', { role: 'doctor' })],
  resetUserPassword: ['users', onVictim('PUT', '/password', { password: 'a-Fine-Secret-8' })],
  blockUser: ['users', onVictim('POST', '/block')],
  deleteUser: ['users', onVictim('DELETE', '')],
  logout: ['users', own('POST', '/api/auth/logout', {})],
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
  updateDepartment: ['departments', onDepartment('PUT', { name: 'Other' })],
  deleteDepartment: ['departments', onDepartment('DELETE')],
  createDepartment: ['tenants', byAdmin('POST', '/api/admin/departments', () => ({ name: 'New' }))],
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
  createPatient: [
    'departments',
    byAdmin('POST', '/api/patients', ({ departmentId }) => ({
      full_name: 'New',
      department_id: departmentId,
    })),
  ],
  updatePatient: ['patients', onPatient('PUT', { phone: '1' })],
  deletePatient: ['patients', onPatient('DELETE')],
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

function own(method: string, path: string, body: object): (scene: Scene) => Command {
  return ({ victim }) => [method, path, { token: victim.token, body }]
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

/**
 * Deletes the record in a transaction that stays open until the command is through or waits for it:
 * the command has seen a record that is gone when it goes on.
 */
async function whileDeleted(table: string, id: number, command: () => Promise<Answer>) {
  const other = new pg.Client({ connectionString: service.database.url })
  await other.connect()
  try {
    // As the purge does: the rows of a tenant go with their data keys, whichever is first.
    await other.query('begin; set constraints all deferred')
    await other.query(`delete from ${table} where id = $1`, [id])
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

describe('while its record is deleted', () => {
  test.each(Object.entries(PAIRS))('%s is answered as it declares', async (id, [table, pair]) => {
    const scene = await newScene()
    const op = service.app.operations.find((operation) => operation.id === id)
    const [method, path, options] = pair(scene)
    const answer = await whileDeleted(table, RECORDS[table](scene), () =>
      service.call(method, path, options),
    )
    expect(op && statusesOf(op)).toContain(answer.status)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500)
  })

  test.each(['updatePreferences', 'replayWebhook'])(
    'by the operation that deletes it, %s is answered as it declares, whoever comes first',
    async (id) => {
      const [table, pair] = PAIRS[id] as (typeof PAIRS)[string]
      const op = service.app.operations.find((operation) => operation.id === id)
      for (let round = 0; round < 4; round += 1) {
        const scene = await newScene()
        const remove = table === 'users' ? onVictim('DELETE', '') : onWebhook('DELETE', '')
        const answers = await Promise.all(
          [remove, pair].map((command) => service.call(...command(scene))),
        )
        expect(answers[0]?.status).toBe(204)
        expect(op && statusesOf(op)).toContain(answers[1]?.status)
        expect(answers[1]?.status).toBeLessThan(500)
      }
    },
  )
})
