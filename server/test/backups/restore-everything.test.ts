/**
 * Tests a restore of everything. Rows come back, but access that was revoked since the backup does not. The result
 * names each such case.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { nameKey } from '../../src/lib/fold.ts'
import { enable, enrol, setUp } from '../second-factor/enrol.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, makeClinic, PASSWORD, type Person, signIn } from '../support/clinics.ts'
import { marksOf } from '../support/sealing.ts'
import { clinicOn, type WebhookClinic } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make } from './support.ts'

let at: Restoring
/** One clinic for each kind of change after the backup: data, access, second factors and webhooks. */
let data: Clinic
let access: Clinic
let factors: Clinic
let hooks: WebhookClinic
let done: any
/** The result of a dry run of the same restore. */
let rehearsed: any
let root: Person

beforeAll(async () => {
  at = await openRestoring()
  const { service, north, south } = at
  ;[data, access] = [north, south]
  factors = await makeClinic(service, at.root, 'factors')
  hooks = clinicOn(service, await makeClinic(service, at.root, 'hooks'))
  const subjects = [dataChanges, accessChanges, roleChanges, settingChanges, factorChanges]
  const changes = []
  for (const prepare of [...subjects, webhookChanges]) changes.push(await prepare())
  const backup_id = await make(service, at.root)
  for (const change of changes) await change()
  const order = { backup_id, dry_run: true }
  const dry = await at.call(at.root, 'POST', '/api/admin/backup/restore', order)
  rehearsed = (await at.over(dry.body.job_id)).result
  const [last] = await at.sql('select max(id)::int as id from journal')
  lastBefore = last.id
  done = await at.restore(at.root, { backup_id })
  root = done.as
})

const casesOf = (table: string, ids: readonly number[]) =>
  done.access.cases.filter((one: any) => one.table === table && ids.includes(one.id))
const expected: object[] = []
/** Expects exactly these reported differences for these rows. */
function expectCases(table: string, ids: readonly number[], cases: readonly [number, string[]][]) {
  const all = cases.map(([id, fields]) => ({ table, id, fields }))
  expected.push(...all)
  expect(casesOf(table, ids)).toEqual(expect.arrayContaining(all))
  expect(casesOf(table, ids)).toHaveLength(all.length)
}

let added: number
let later: Clinic
let swapped: number
let lastBefore: number

async function dataChanges() {
  const [other] = await at.sql(
    "insert into departments (tenant_id, name) values ($1, 'Cardiology') returning id",
    [data.id],
  )
  swapped = other.id
  return async () => {
    const { nurse, doctor, admin } = data.people
    await at.rename(at.root, nurse.id, 'Renamed Since')
    const name = (id: number, text: string) =>
      at.sql('update departments set name = $2 where id = $1', [id, text])
    await name(swapped, 'x')
    await name(data.departmentId, 'Cardiology')
    await name(swapped, 'Surgery')
    const department = `/api/admin/departments/${data.departmentId}`
    await at.call(at.root, 'PUT', department, { head_doctor_id: doctor.id })
    const account = { email: 'new@north.test', password: PASSWORD, full_name: 'New', role: 'nurse' }
    const body = { ...account, tenant_id: data.id }
    added = (await at.call(at.root, 'POST', '/api/admin/users', body)).body.id
    await at.call(at.root, 'DELETE', `/api/admin/users/${admin.id}`)
    later = await makeClinic(at.service, at.root, 'later')
  }
}

const HARSHER_PASSWORD = 'another-Horse-9'

async function accessChanges() {
  const { nurse, doctor, auditor, admin, receptionist } = access.people
  await at.sql('update users set can_see_all_patients = true where id = $1', [doctor.id])
  return async () => {
    const users = '/api/admin/users'
    const password = { password: HARSHER_PASSWORD }
    const answers = [
      await at.call(at.root, 'POST', `${users}/${nurse.id}/block`),
      await at.call(at.root, 'PUT', `${users}/${doctor.id}`, { can_see_all_patients: false }),
      await at.call(at.root, 'DELETE', `${users}/${auditor.id}`),
      await at.call(at.root, 'PUT', `${users}/${receptionist.id}/password`, password),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 204, 200])
    await at.sql("update users set role = 'receptionist' where id = $1", [admin.id])
  }
}

/** A user's role in the backup, the current role, and the role after the restore. */
const ROLES = [
  ['doctor', 'receptionist', 'receptionist'],
  ['doctor', 'auditor', 'auditor'],
  ['auditor', 'doctor', 'doctor'],
  ['receptionist', 'nurse', 'receptionist'],
  ['auditor', 'admin', 'auditor'],
] as const
const roleIds: number[] = []

async function roleChanges() {
  for (const [index, [then]] of ROLES.entries()) {
    const [{ id }] = await at.sql(
      // Sets the folded name. Otherwise the upkeep job would set it at an unknown time and change the row.
      `insert into users (tenant_id, email, full_name, role, password_hash, name_key, is_folded)
       values ($1, $2, 'Somebody', $3, '-', $4, true) returning id`,
      [data.id, `role${index}@north.test`, then, nameKey('Somebody')],
    )
    roleIds.push(Number(id))
  }
  return async () => {
    for (const [index, [, now]] of ROLES.entries())
      await at.sql('update users set role = $2 where id = $1', [roleIds[index], now])
  }
}

const settingsWith = (key: string, value?: unknown) => ({
  colour: 'blue',
  ...(value === undefined ? {} : { [key]: value }),
})
type Setting = [key: string, then: unknown, now: unknown, after: unknown, isCase: boolean]
const registration = (then?: string, now?: string, after?: string, isCase = false): Setting => [
  'registration',
  then,
  now,
  after,
  isCase,
]
const listed = (then?: boolean, now?: boolean, after?: boolean, isCase = false): Setting => [
  'listed',
  then,
  now,
  after,
  isCase,
]
/** A clinic's setting in the backup, now and after the restore, and whether the result reports it. */
const SETTINGS: Setting[] = [
  registration('open', 'closed', 'closed', true),
  registration('open', 'approval', 'approval', true),
  registration('open', undefined, undefined, true),
  registration('approval', 'closed', 'closed', true),
  registration(undefined, 'open', undefined),
  registration('closed', 'open', 'closed'),
  registration('open', 'open', 'open'),
  listed(undefined, false, false, true),
  listed(true, false, false, true),
  listed(false, undefined, false),
  listed(true, undefined, true),
  listed(undefined, true, undefined),
  ['require_totp', ['nurse'], ['nurse', 'doctor'], ['nurse', 'doctor'], true],
  ['require_totp', ['nurse'], ['nurse'], ['nurse'], false],
]
const settingIds: number[] = []

async function settingChanges() {
  for (const [index, [key, then]] of SETTINGS.entries()) {
    const [{ id }] = await at.sql(
      'insert into tenants (name, subdomain, settings) values ($1, $1, $2) returning id',
      [`settings-${index}`, JSON.stringify(settingsWith(key, then))],
    )
    settingIds.push(Number(id))
  }
  return async () => {
    for (const [index, [key, , now]] of SETTINGS.entries())
      await at.sql('update tenants set settings = $2 where id = $1', [
        settingIds[index],
        JSON.stringify(settingsWith(key, now)),
      ])
  }
}

async function factorChanges() {
  const { service } = at
  const { doctor, nurse } = factors.people
  await enrol(service, nurse.token)
  await enrol(service, doctor.token)
  return async () => {
    const deleted = await at.call(at.root, 'DELETE', `/api/admin/users/${doctor.id}/totp`)
    expect(deleted.status).toBe(204)
    const { token } = await at.again(doctor, 'factors')
    const { secret } = (await setUp(service, token)).body
    expect((await enable(service, token, codeOf(service, secret))).status).toBe(200)
  }
}

const THEN = 'http://127.0.0.1:9/then'
const NOW = 'http://127.0.0.1:9/now'
interface Change {
  events?: string[]
  change: object
  /** The fields that the restore result reports. */
  fields: string[]
}
const ACTIVE = { url: THEN, is_active: true, disabled_reason: null }
const INACTIVE = { url: THEN, is_active: false, disabled_reason: 'admin' }
const WEBHOOKS: Record<string, Change> = {
  'another URL': { change: { url: NOW }, fields: ['url'] },
  'fewer events than all': { change: { events: ['payment.*'] }, fields: ['events'] },
  'one event of a group': {
    events: ['user.*'],
    change: { events: ['user.created', 'payment.*'] },
    fields: ['events'],
  },
  'other events': {
    events: ['user.created'],
    change: { events: ['user.deleted'] },
    fields: ['events'],
  },
  'all events': { events: ['user.*', 'user.created'], change: { events: ['*'] }, fields: [] },
  'the whole group': { events: ['user.created'], change: { events: ['user.*'] }, fields: [] },
  'another secret': {
    change: { secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` },
    fields: ['secret'],
  },
  'a deactivation by its administrator': { change: { is_active: false }, fields: ['is_active'] },
}
const webhookIds: number[] = []
/** Two webhooks. The first has another URL and was deactivated after failures. The second was deleted. */
let failing: number
let deleted: number

async function webhookChanges() {
  const register = async (events = ['*']) => (await hooks.register({ url: THEN, events })).id
  for (const { events } of Object.values(WEBHOOKS)) webhookIds.push(await register(events))
  ;[failing, deleted] = [await register(), await register()]
  return async () => {
    const change = async (id: number | undefined, body: object) => {
      const changed = await hooks.call('PUT', `/${id}`, { body })
      expect(changed.status, JSON.stringify(changed.body)).toBe(200)
    }
    for (const [index, webhook] of Object.values(WEBHOOKS).entries())
      await change(webhookIds[index], webhook.change)
    await change(failing, { url: NOW })
    await at.sql(
      `update webhooks set is_active = false, disabled_reason = 'failing' where id = $1`,
      [failing],
    )
    await hooks.call('DELETE', `/${deleted}`)
  }
}

test('a restore reverts rows that were changed, added or deleted after the backup', async () => {
  const { nurse, admin } = data.people
  expect(await at.nameOf(nurse.id)).toBe('nurse of north')
  expect(await at.nameOf(added)).toBeUndefined()
  expect(await rowOf(admin.id)).toMatchObject({ role: 'admin', is_active: false })
  expectCases('users', [admin.id], [[admin.id, ['deleted']]])
  const path = `/api/admin/departments?tenant_id=${data.id}&sort_by=id&sort_order=asc`
  const { body } = await at.call(root, 'GET', path)
  // The names include two names that the rows have exchanged.
  expect(body.items).toMatchObject([
    { id: data.departmentId, name: 'Surgery', head_doctor_id: null },
    { id: Number(swapped), name: 'Cardiology' },
  ])
})

test('a restore deletes a clinic that is not in the backup, in the same way as an operator', async () => {
  const [clinic] = await at.sql('select deleted_at, is_active from tenants where id = $1', [
    later.id,
  ])
  expect(clinic).toMatchObject({ deleted_at: expect.anything(), is_active: true })
  expect(rehearsed.deleted).toEqual([later.id])
  expect(done.deleted).toEqual([later.id])
  const path = `/api/admin/audit?action=tenant.deleted&tenant_id=${later.id}`
  expect((await at.call(root, 'GET', path)).body.items).toMatchObject([
    { user_id: root.id, resource_id: String(later.id) },
  ])
})

test('a restore ends every session, and adds one journal entry to each clinic', async () => {
  for (const { people } of [data, access, factors])
    expect((await at.call(people.nurse, 'GET', '/api/users/me')).status).toBe(401)
  const entries = await at.sql(
    `select tenant_id::int as id from journal where action = 'backup.restored' order by 1`,
  )
  const tenants = await at.sql('select id::int from tenants where id <> $1 order by 1', [later.id])
  expect(entries).toEqual(tenants)
  expect(await marksOf(at.service, ['backup.restored', 'tenant.deleted'])).toEqual(['ok'])
  const changes = await at.sql(`select from journal where action = 'user.updated' and id > $1`, [
    lastBefore,
  ])
  expect(changes).toEqual([])
})

const rowOf = async (id: number) =>
  (await at.sql('select role, is_active, can_see_all_patients from users where id = $1', [id]))[0]

describe('the access of users after a restore', () => {
  test("is the stricter of the backup's and the current access, and each difference is reported", async () => {
    const { nurse, doctor, auditor, admin, receptionist } = access.people
    expect(await rowOf(nurse.id)).toMatchObject({ is_active: false })
    expect(await rowOf(admin.id)).toMatchObject({ role: 'receptionist' })
    expect(await rowOf(doctor.id)).toMatchObject({ can_see_all_patients: false })
    expect(await rowOf(auditor.id)).toMatchObject({ is_active: false, role: 'auditor' })
    await expect(
      signIn(at.service, { email: receptionist.email, password: PASSWORD, subdomain: 'south' }),
    ).rejects.toThrow('401')
    await at.again({ ...receptionist, password: HARSHER_PASSWORD }, 'south')
    const ids = Object.values(access.people).map(({ id }) => id)
    expectCases('users', ids, [
      [nurse.id, ['is_active']],
      [admin.id, ['role']],
      [doctor.id, ['can_see_all_patients']],
      [auditor.id, ['deleted']],
      [receptionist.id, ['password']],
    ])
    const [entry] = await at.sql(
      `select changes -> 'access_kept' as kept from journal
       where action = 'backup.restored' and tenant_id = $1`,
      [access.id],
    )
    expect(entry.kept).toEqual({ total: 5, cases: casesOf('users', ids) })
  })

  test.each(ROLES)(
    'is restored for a %s of the backup who is now a %s as a %s',
    async (...role) => {
      const id = roleIds[ROLES.findIndex((one) => one.join() === role.join())] ?? 0
      expect(await rowOf(id)).toMatchObject({ role: role[2] })
      expectCases('users', [id], role[0] === role[2] ? [] : [[id, ['role']]])
    },
  )

  test.each(SETTINGS)(
    'keeps the stricter value of the setting %s: backup %j, now %j',
    async (...setting) => {
      const [key, , , after, isCase] = setting
      const id = settingIds[SETTINGS.findIndex((one) => `${one}` === `${setting}`)] ?? 0
      const [{ settings }] = await at.sql('select settings from tenants where id = $1', [id])
      expect(settings).toEqual(settingsWith(key, after))
      expectCases('tenants', [id], isCase ? [[id, [key]]] : [])
    },
  )

  test('reports each second factor that was replaced after the backup', () => {
    const { nurse, doctor } = factors.people
    expectCases('users', [nurse.id, doctor.id], [[doctor.id, ['second_factor']]])
  })
})

describe('a restored webhook', () => {
  const webhook = async (id: number) =>
    (await at.sql('select url, is_active, disabled_reason from webhooks where id = $1', [id]))[0]
  /**
   * Expects this row and this reported difference. Also expects that the webhook's administrator can activate the
   * webhook.
   */
  async function expectWebhook(id: number, fields: string[], row: object) {
    expect(await webhook(id)).toEqual(row)
    expectCases('webhooks', [id], fields.length > 0 ? [[id, fields]] : [])
    const activated = await hooks.call('PUT', `/${id}`, { body: { is_active: true } })
    expect(activated.status, JSON.stringify(activated.body)).toBe(200)
  }

  test.each(Object.keys(WEBHOOKS))(
    'keeps the narrower events and the current URL after this change of the webhook: %s',
    async (what) => {
      const id = webhookIds[Object.keys(WEBHOOKS).indexOf(what)] ?? 0
      const fields = WEBHOOKS[what]?.fields ?? []
      await expectWebhook(id, fields, fields.some((one) => one !== 'secret') ? INACTIVE : ACTIVE)
    },
  )

  test('stays inactive at its former URL if failures deactivated it after the backup', () =>
    expectWebhook(failing, ['is_active', 'url'], INACTIVE))

  test('is inactive if it was deleted after the backup', () =>
    expectWebhook(deleted, ['deleted'], INACTIVE))
})

test('a restore reports no access differences other than those above', () => {
  expect(done.access.cases).toEqual(expect.arrayContaining(expected))
  expect(done.access.cases).toHaveLength(expected.length)
  expect(done.access.total).toBe(expected.length)
})

test('a restore can be undone with its safety backup', async () => {
  const { items } = (await at.call(root, 'GET', '/api/admin/backup/list')).body
  expect(items.find((one: any) => one.backup_id === done.safety_backup_id)).toMatchObject({
    reason: 'safety',
    status: 'completed',
  })
  await at.restore(root, { backup_id: done.safety_backup_id })
  expect(await at.nameOf(data.people.nurse.id)).toBe('Renamed Since')
  expect(await at.nameOf(added)).toBe('New')
})
