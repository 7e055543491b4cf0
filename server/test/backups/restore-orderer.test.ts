/** What a restore leaves to whoever orders it, and to tenants whose purge has begun. */
import { beforeEach, expect, test } from 'vitest'
import { enable, enrol, login, STEP, setUp } from '../second-factor/enrol.ts'
import { codeOf } from '../support/accounts.ts'
import { PASSWORD, type Person } from '../support/clinics.ts'
import { SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let service: Restoring['service']
let root: Restoring['root']
let north: Restoring['north']
let again: Restoring['again']
let call: Restoring['call']
let sql: Restoring['sql']
let restore: Restoring['restore']
let over: Restoring['over']

beforeEach(async () => {
  ;({ again, service, root, north, call, sql, restore, over } = await openRestoring())
})

const rowOf = async (id: number) =>
  (await sql('select role, is_active from users where id = $1', [id]))[0]

test('whoever orders stays, also where the backup does not know them', async () => {
  const { admin } = north.people
  const id = await make(service, admin)
  const account = { email: 'young@north.test', password: PASSWORD, full_name: 'Young' }
  const made = await call(root, 'POST', '/api/admin/users', {
    ...account,
    role: 'admin',
    tenant_id: north.id,
  })
  const [department] = await sql(
    `insert into departments (tenant_id, name) values ($1, 'Later') returning id`,
    [north.id],
  )
  await sql('update users set department_id = $2 where id = $1', [made.body.id, department.id])
  const young = await again({ ...admin, ...account, id: made.body.id }, 'north')
  await call(young, 'POST', `/api/admin/users/${admin.id}/block`)
  await restore(young, { backup_id: id }, 'north')
  expect(await rowOf(made.body.id)).toEqual({ role: 'admin', is_active: true })
  expect(await rowOf(admin.id)).toEqual({ role: 'admin', is_active: false })
})

test('nothing is restored over the account of whoever orders, by another with its address', async () => {
  const { admin, nurse } = north.people
  const id = await make(service, admin)
  await call(root, 'DELETE', `/api/admin/users/${nurse.id}`)
  const account = { email: nurse.email, password: PASSWORD, full_name: 'Again' }
  const made = await call(root, 'POST', '/api/admin/users', {
    ...account,
    role: 'admin',
    tenant_id: north.id,
  })
  const same = await again({ ...admin, ...account, id: made.body.id }, 'north')
  await expect(restore(same, { backup_id: id }, 'north')).rejects.toThrow(/your address/)
  await restore(admin, { backup_id: id }, 'north')
})

test('a second factor of whoever orders stays, and no code that was spent works again', async () => {
  const { doctor } = north.people
  const stepOf = async ({ id }: Person) =>
    (await sql('select last_step::int from second_factors where user_id = $1', [id]))[0]?.last_step
  await enrol(service, doctor.token)
  const id = await make(service, root)
  const { password } = SUPERADMIN
  const { secret } = (await setUp(service, root.token, { password })).body
  await enable(service, root.token, codeOf(service, secret))
  await sql('update second_factors set last_step = last_step + 2 where user_id = $1', [doctor.id])
  const steps = [await stepOf(doctor), await stepOf(root)]
  const answer = await call(root, 'POST', '/api/admin/backup/restore', {
    backup_id: id,
    access: 'backup',
    confirm: true,
  })
  expect((await over(answer.body.job_id)).status).toBe('completed')
  expect([await stepOf(doctor), await stepOf(root)]).toEqual(steps)
  service.clock.advance(STEP)
  const code = { totp_code: codeOf(service, secret), password, subdomain: 'platform' }
  const signedIn = () => login(service, SUPERADMIN, code)
  const opened = await until('the service to be open again', async () => {
    const answer = await signedIn()
    return answer.status === 503 ? undefined : answer
  })
  expect(opened.status).toBe(200)
})

test('a tenant whose purge has begun is no less on its way', async () => {
  const id = await make(service, root)
  await sql(
    `update tenants set is_active = false, deleted_at = now(), purge_started_at = now() where id = $1`,
    [north.id],
  )
  const named = restore(root, { backup_id: id, tenant_id: north.id })
  await expect(named).rejects.toThrow(/purge of the tenant has begun/)
  await restore(root, { backup_id: id, access: 'backup' })
  const [tenant] = await sql(
    'select is_active, deleted_at, purge_started_at from tenants where id = $1',
    [north.id],
  )
  expect(tenant).toMatchObject({
    is_active: false,
    deleted_at: expect.anything(),
    purge_started_at: expect.anything(),
  })
})
