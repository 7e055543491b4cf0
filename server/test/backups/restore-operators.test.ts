/** What a restore leaves alone: superadmins, its caller, and a purge that has begun. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Backup } from '../../src/features/backups/backups.schema.ts'
import { queueRestore, type Wanted } from '../../src/features/backups/restore-in-place/order.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { enable, enrol, login, STEP, setUp } from '../second-factor/enrol.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, PASSWORD, type Person } from '../support/clinics.ts'
import { until } from '../support/embedded.ts'
import { SUPERADMIN } from '../support/service.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let at: Restoring
let root: Person
/** The clinic of the test, without any superadmin. */
let clinic: Clinic

beforeAll(async () => {
  at = await openRestoring()
  root = at.root
})

beforeEach(async () => {
  // The bootstrap superadmin is the only one who can sign in.
  await at.sql(`update users set is_active = id = $1 where role = 'superadmin'`, [root.id])
  clinic = await at.anotherClinic()
})

/** Makes a superadmin of the tenant and signs them in. */
async function makeSuperadmin(tenantId: number, subdomain: string): Promise<Person> {
  const account = { email: `second@${subdomain}.test`, password: PASSWORD }
  const made = await at.call(root, 'POST', '/api/admin/users', {
    ...account,
    full_name: 'Second',
    role: 'superadmin',
    tenant_id: tenantId,
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return at.again({ ...root, ...account, id: made.body.id, tenant_id: tenantId }, subdomain)
}

const rowOf = async (id: number) =>
  (await at.sql('select role, is_active from users where id = $1', [id]))[0]

/** Orders a restore of the platform as the command line does, without a user of the service. Returns its job. */
async function orderAsHost(backup_id: string, options: Partial<Wanted>) {
  const backup = { backup_id, type: 'full', status: 'completed' } as Backup
  const wanted = {
    tenant_id: root.tenant_id,
    access: 'merged',
    dry_run: false,
    ...options,
  } as const
  const { job_id } = await queueRestore(at.service.app.db, null, backup, wanted, SYSTEM)
  return at.over(job_id)
}

/** Makes a backup in which the tenant is deleted. */
async function makeWithout(tenantId: number) {
  const setDeleted = (time: string) =>
    at.sql(`update tenants set deleted_at = ${time} where id = $1`, [tenantId])
  await setDeleted('now()')
  const backup = await make(at.service, root)
  await setDeleted('null')
  return backup
}

describe('superadmins', () => {
  test('refuses to remove the only superadmin, unless access is restored as well', async () => {
    const id = await make(at.service, root)
    const second = await makeSuperadmin(root.tenant_id, 'platform')
    expect((await at.call(second, 'DELETE', `/api/admin/users/${root.id}`)).status).toBe(204)
    for (const dry_run of [true, false])
      expect(await orderAsHost(id, { dry_run })).toMatchObject({
        status: 'failed',
        error: expect.stringContaining('no superadmin would be left who can sign in'),
      })
    expect(await rowOf(second.id)).toEqual({ role: 'superadmin', is_active: true })
    expect(await orderAsHost(id, { access: 'backup' })).toMatchObject({ status: 'completed' })
    expect(await rowOf(root.id)).toEqual({ role: 'superadmin', is_active: true })
    expect(await rowOf(second.id)).toBeUndefined()
  })

  test('lets no admin remove a superadmin who was created or promoted since the backup', async () => {
    const { admin, nurse, doctor } = clinic.people
    await at.sql('update users set is_active = false where id = $1', [doctor.id])
    const backup_id = await make(at.service, admin)
    const second = await makeSuperadmin(clinic.id, clinic.subdomain)
    const promoted = [nurse.id, doctor.id]
    await at.sql(`update users set role = 'superadmin', is_active = true where id = any($1)`, [
      promoted,
    ])
    await at.restore(admin, { backup_id }, clinic.subdomain)
    for (const id of [second.id, ...promoted])
      expect(await rowOf(id)).toEqual({ role: 'superadmin', is_active: true })
    await at.again(second, clinic.subdomain)
    // A superadmin may.
    await at.restore(root, { backup_id })
    expect(await rowOf(second.id)).toBeUndefined()
    expect(await rowOf(nurse.id)).toEqual({ role: 'nurse', is_active: true })
  })

  test('refuses to restore an account whose address now belongs to a superadmin', async () => {
    const { admin, nurse } = clinic.people
    const backup_id = await make(at.service, admin)
    expect((await at.call(root, 'DELETE', `/api/admin/users/${nurse.id}`)).status).toBe(204)
    const second = await makeSuperadmin(clinic.id, clinic.subdomain)
    await at.sql('update users set email = $2 where id = $1', [second.id, nurse.email])
    const restored = at.restore(admin, { backup_id }, clinic.subdomain)
    await expect(restored).rejects.toThrow(/that of a superadmin/)
  })

  test('lets a superadmin of a clinic restore everything, unless that deletes the clinic', async () => {
    const { id, subdomain } = clinic
    const second = await makeSuperadmin(id, subdomain)
    const [backup_id, without] = [await make(at.service, root), await makeWithout(id)]
    expect((await at.call(second, 'POST', `/api/admin/users/${root.id}/block`)).status).toBe(200)
    const { as } = await at.restore(second, { backup_id }, subdomain)
    expect(await rowOf(root.id)).toEqual({ role: 'superadmin', is_active: false })
    const restored = at.restore(as, { backup_id: without }, subdomain)
    await expect(restored).rejects.toThrow(/no superadmin/)
  })
})

describe('the caller', () => {
  /** Makes another admin of the clinic. */
  async function makeAdmin(email: string): Promise<Person> {
    const account = { email, password: PASSWORD, full_name: 'Another' }
    const body = { ...account, role: 'admin', tenant_id: clinic.id }
    const made = await at.call(root, 'POST', '/api/admin/users', body)
    const { admin } = clinic.people
    return at.again({ ...admin, ...account, id: made.body.id }, clinic.subdomain)
  }

  test('keeps their account when the backup does not contain it', async () => {
    const { admin } = clinic.people
    const backup_id = await make(at.service, admin)
    const young = await makeAdmin(`young@${clinic.subdomain}.test`)
    const [department] = await at.sql(
      `insert into departments (tenant_id, name) values ($1, 'Later') returning id`,
      [clinic.id],
    )
    await at.sql('update users set department_id = $2 where id = $1', [young.id, department.id])
    await at.call(young, 'POST', `/api/admin/users/${admin.id}/block`)
    await at.restore(young, { backup_id }, clinic.subdomain)
    expect(await rowOf(young.id)).toEqual({ role: 'admin', is_active: true })
    expect(await rowOf(admin.id)).toEqual({ role: 'admin', is_active: false })
  })

  test('keeps their account when another account had its address in the backup', async () => {
    const { admin, nurse } = clinic.people
    const backup_id = await make(at.service, admin)
    await at.call(root, 'DELETE', `/api/admin/users/${nurse.id}`)
    const same = await makeAdmin(nurse.email)
    const restored = at.restore(same, { backup_id }, clinic.subdomain)
    await expect(restored).rejects.toThrow(/your address/)
    await at.restore(admin, { backup_id }, clinic.subdomain)
  })
})

test('refuses to restore a tenant whose purge has begun, and continues the purge', async () => {
  const { id } = clinic
  const backup_id = await make(at.service, root)
  await at.sql(
    `update tenants set is_active = false, deleted_at = now(), purge_started_at = now() where id = $1`,
    [id],
  )
  const named = at.restore(root, { backup_id, tenant_id: id })
  await expect(named).rejects.toThrow(/purge of the tenant has begun/)
  await at.restore(root, { backup_id, access: 'backup' })
  const [tenant] = await at.sql(
    'select is_active, deleted_at, purge_started_at from tenants where id = $1',
    [id],
  )
  expect(tenant).toMatchObject({
    is_active: false,
    deleted_at: expect.anything(),
    purge_started_at: expect.anything(),
  })
})

// The last, because the superadmin signs in with a second factor from here on.
test('keeps the second factor of the caller, and rejects codes that were used since the backup', async () => {
  const { service } = at
  const { doctor } = clinic.people
  const stepOf = async ({ id }: Person) =>
    (await at.sql('select last_step::int from second_factors where user_id = $1', [id]))[0]
      ?.last_step
  await enrol(service, doctor.token)
  const backup_id = await make(service, root)
  const { password } = SUPERADMIN
  const { secret } = (await setUp(service, root.token, { password })).body
  await enable(service, root.token, codeOf(service, secret))
  await at.sql('update second_factors set last_step = last_step + 2 where user_id = $1', [
    doctor.id,
  ])
  const steps = [await stepOf(doctor), await stepOf(root)]
  const order = { backup_id, access: 'backup', confirm: true }
  const { body } = await at.call(root, 'POST', '/api/admin/backup/restore', order)
  expect((await at.over(body.job_id)).status).toBe('completed')
  expect([await stepOf(doctor), await stepOf(root)]).toEqual(steps)
  service.clock.advance(STEP)
  const code = { totp_code: codeOf(service, secret), password, subdomain: 'platform' }
  const opened = await until('the service to be open again', async () => {
    const answer = await login(service, SUPERADMIN, code)
    return answer.status === 503 ? undefined : answer
  })
  expect(opened.status).toBe(200)
})
