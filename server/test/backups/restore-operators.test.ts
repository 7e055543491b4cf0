/** A restore always leaves a superadmin who can sign in. A tenant's admin cannot remove a superadmin by a restore. */
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Backup } from '../../src/features/backups/backups.schema.ts'
import { queueRestore, type Wanted } from '../../src/features/backups/restore-in-place/order.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { type Clinic, PASSWORD, type Person } from '../support/clinics.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make } from './support.ts'

let at: Restoring
let root: Person
/** The clinic of the test. It has no superadmin of its own. */
let clinic: Clinic

beforeAll(async () => {
  at = await openRestoring()
  root = at.root
})

beforeEach(async () => {
  // Leaves the bootstrap superadmin as the only superadmin who can sign in.
  await at.sql(`update users set is_active = id = $1 where role = 'superadmin'`, [root.id])
  clinic = await at.anotherClinic()
})

/** Makes a superadmin who belongs to the tenant, and signs them in. */
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

/** Requests a restore of the platform as the command line does, without a user. Returns the job. */
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

test('a restore cannot remove the only superadmin, except a restore with access "backup"', async () => {
  const id = await make(at.service, root)
  const second = await makeSuperadmin(root.tenant_id, 'platform')
  expect((await at.call(second, 'DELETE', `/api/admin/users/${root.id}`)).status).toBe(204)
  for (const dry_run of [true, false])
    expect(await orderAsHost(id, { dry_run })).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('no superadmin would be able to sign in after the restore'),
    })
  expect(await rowOf(second.id)).toEqual({ role: 'superadmin', is_active: true })
  expect(await orderAsHost(id, { access: 'backup' })).toMatchObject({ status: 'completed' })
  expect(await rowOf(root.id)).toEqual({ role: 'superadmin', is_active: true })
  expect(await rowOf(second.id)).toBeUndefined()
})

test("an admin's restore cannot remove a superadmin who was created or promoted after the backup", async () => {
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
  // A superadmin may restore such a backup.
  await at.restore(root, { backup_id })
  expect(await rowOf(second.id)).toBeUndefined()
  expect(await rowOf(nurse.id)).toEqual({ role: 'nurse', is_active: true })
})

test('a restore of an account is refused if a superadmin now has its address', async () => {
  const { admin, nurse } = clinic.people
  const backup_id = await make(at.service, admin)
  expect((await at.call(root, 'DELETE', `/api/admin/users/${nurse.id}`)).status).toBe(204)
  const second = await makeSuperadmin(clinic.id, clinic.subdomain)
  await at.sql('update users set email = $2 where id = $1', [second.id, nurse.email])
  const restored = at.restore(admin, { backup_id }, clinic.subdomain)
  await expect(restored).rejects.toThrow(/that of another superadmin/)
})

test('a superadmin of a clinic can restore everything, unless that deletes their own clinic', async () => {
  const { id, subdomain } = clinic
  const second = await makeSuperadmin(id, subdomain)
  const [backup_id, without] = [await make(at.service, root), await makeWithout(id)]
  expect((await at.call(second, 'POST', `/api/admin/users/${root.id}/block`)).status).toBe(200)
  const { as } = await at.restore(second, { backup_id }, subdomain)
  expect(await rowOf(root.id)).toEqual({ role: 'superadmin', is_active: false })
  const restored = at.restore(as, { backup_id: without }, subdomain)
  await expect(restored).rejects.toThrow(/no superadmin/)
})
