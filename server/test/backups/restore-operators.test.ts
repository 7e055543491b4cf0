/** Superadmins: a restore leaves one who can sign in, and no clinic's admin takes one away by it. */
import { beforeEach, expect, test } from 'vitest'
import type { Backup } from '../../src/features/backups/backups.schema.ts'
import { queueRestore, type Wanted } from '../../src/features/backups/restore-in-place/order.ts'
import { SYSTEM } from '../../src/platform/journal/index.ts'
import { PASSWORD, type Person } from '../support/clinics.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let at: Restoring

beforeEach(async () => {
  at = await openRestoring()
})

/** A superadmin of the tenant, who is made now and signs in. */
async function makeSuperadmin(tenantId: number, subdomain: string): Promise<Person> {
  const account = { email: `second@${subdomain}.test`, password: PASSWORD }
  const made = await at.call(at.root, 'POST', '/api/admin/users', {
    ...account,
    full_name: 'Second',
    role: 'superadmin',
    tenant_id: tenantId,
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return at.again({ ...at.root, ...account, id: made.body.id, tenant_id: tenantId }, subdomain)
}

const rowOf = async (id: number) =>
  (await at.sql('select role, is_active from users where id = $1', [id]))[0]

/** As the command line orders it, for nobody of the service. Answers its job. */
async function orderAsHost(backup_id: string, options: Partial<Wanted>) {
  const backup = { backup_id, type: 'full', status: 'completed' } as Backup
  const wanted = {
    tenant_id: at.root.tenant_id,
    access: 'merged',
    dry_run: false,
    ...options,
  } as const
  const { job_id } = await queueRestore(at.service.app.db, null, backup, wanted, SYSTEM)
  return at.over(job_id)
}

test('the platform is not restored to before its one superadmin, but where their access is asked for', async () => {
  const { root } = at
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

test("a clinic's admin takes no superadmin of it away: neither a younger one nor one promoted since", async () => {
  const { admin, nurse, doctor } = at.north.people
  await at.sql('update users set is_active = false where id = $1', [doctor.id])
  const backup_id = await make(at.service, admin)
  const second = await makeSuperadmin(at.north.id, 'north')
  const promoted = [nurse.id, doctor.id]
  await at.sql(`update users set role = 'superadmin', is_active = true where id = any($1)`, [
    promoted,
  ])
  await at.restore(admin, { backup_id }, 'north')
  for (const id of [second.id, ...promoted])
    expect(await rowOf(id)).toEqual({ role: 'superadmin', is_active: true })
  await at.again(second, 'north')
  // A superadmin may.
  await at.restore(at.root, { backup_id })
  expect(await rowOf(second.id)).toBeUndefined()
  expect(await rowOf(nurse.id)).toEqual({ role: 'nurse', is_active: true })
})

test('nothing is restored over a superadmin, by another account with their address', async () => {
  const { admin, nurse } = at.north.people
  const backup_id = await make(at.service, admin)
  expect((await at.call(at.root, 'DELETE', `/api/admin/users/${nurse.id}`)).status).toBe(204)
  const second = await makeSuperadmin(at.north.id, 'north')
  await at.sql('update users set email = $2 where id = $1', [second.id, nurse.email])
  await expect(at.restore(admin, { backup_id }, 'north')).rejects.toThrow(/that of a superadmin/)
})

test('everything is restored by a superadmin of a clinic, unless that would be deleted', async () => {
  const { id } = at.north
  const second = await makeSuperadmin(id, 'north')
  const [backup_id, without] = [await make(at.service, at.root), await makeWithout(id)]
  expect((await at.call(second, 'POST', `/api/admin/users/${at.root.id}/block`)).status).toBe(200)
  const { as } = await at.restore(second, { backup_id }, 'north')
  expect(await rowOf(at.root.id)).toEqual({ role: 'superadmin', is_active: false })
  await expect(at.restore(as, { backup_id: without }, 'north')).rejects.toThrow(/no superadmin/)
})

/** A backup in which the tenant is deleted; it is put back. */
async function makeWithout(tenantId: number) {
  const deleteAt = (time: string) =>
    at.sql(`update tenants set deleted_at = ${time} where id = $1`, [tenantId])
  await deleteAt('now()')
  const backup = await make(at.service, at.root)
  await deleteAt('null')
  return backup
}
