/** A restore keeps its caller's account, and does not restore a tenant whose purge has begun. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { enable, enrol, login, STEP, setUp } from '../second-factor/enrol.ts'
import { codeOf } from '../support/accounts.ts'
import { type Clinic, PASSWORD, type Person } from '../support/clinics.ts'
import { SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make } from './support.ts'

let at: Restoring
let root: Person
/** The clinic of the test. */
let clinic: Clinic

beforeAll(async () => {
  at = await openRestoring()
  root = at.root
})

beforeEach(async () => {
  clinic = await at.anotherClinic()
})

const rowOf = async (id: number) =>
  (await at.sql('select role, is_active from users where id = $1', [id]))[0]

describe('the caller of a restore', () => {
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
    await expect(restored).rejects.toThrow(/your e-mail address/)
    await at.restore(admin, { backup_id }, clinic.subdomain)
  })
})

test('a tenant whose purge has begun cannot be restored by the caller, and the purge continues', async () => {
  const { id } = clinic
  const backup_id = await make(at.service, root)
  await at.sql(
    `update tenants set is_active = false, deleted_at = now(), purge_started_at = now() where id = $1`,
    [id],
  )
  const named = at.restore(root, { backup_id, tenant_id: id })
  await expect(named).rejects.toThrow(/tenant is being purged/)
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

// This test must be the last, because the superadmin has a second factor afterwards.
test('the caller of a restore keeps their second factor, and cannot reuse codes entered after the backup', async () => {
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
