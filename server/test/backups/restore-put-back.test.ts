/** What was put back since the backup is deleted again by a restore, as of today: it can be put back again. */
import { beforeEach, expect, test } from 'vitest'
import { openRestoring, type Restoring } from './restoring.ts'
import { make, purgeTonight } from './support.ts'

let at: Restoring

beforeEach(async () => {
  at = await openRestoring()
})

const ORDERS: [string, () => object][] = [
  ['everything', () => ({})],
  ['everything with its access', () => ({ access: 'backup' })],
  ['one clinic', () => ({ tenant_id: at.north.id })],
]

const deletedAgo = (table: string, days: number | null, ids: readonly number[]) =>
  at.sql(`update ${table} set deleted_at = now() - make_interval(days => $1) where id = any($2)`, [
    days,
    ids,
  ])
/** How many days ago each was deleted. */
const daysOf = async (table: string, ids: readonly number[]) => {
  const rows = await at.sql(
    `select floor(extract(epoch from now() - deleted_at) / 86400)::int as days
     from ${table} where id = any($1) order by id`,
    [ids],
  )
  return rows.map(({ days }) => days)
}

test.each(ORDERS)('a clinic, by a restore of %s', async (_what, wanted) => {
  const { id } = at.north
  const clinics = [id, at.south.id]
  await deletedAgo('tenants', 20, clinics)
  const order = { backup_id: await make(at.service, at.root), ...wanted() }
  await deletedAgo('tenants', null, clinics)
  // And deleted again by hand: its days are those of that.
  await deletedAgo('tenants', 5, [at.south.id])
  const rehearsed = await at.call(at.root, 'POST', '/api/admin/backup/restore', {
    ...order,
    dry_run: true,
  })
  expect(rehearsed.status, JSON.stringify(rehearsed.body)).toBe(200)
  expect((await at.over(rehearsed.body.job_id)).result).toMatchObject({ deleted: [id] })
  const { deleted, as } = await at.restore(at.root, order)
  expect(deleted).toEqual([id])
  const told = `/api/admin/audit?action=tenant.deleted&tenant_id=${id}`
  expect((await at.call(as, 'GET', told)).body.items).toMatchObject([
    { user_id: at.root.id, resource_id: String(id) },
  ])
  // Of fewer days than the service's own, which may be at work by now.
  await purgeTonight(at.service, 10)
  expect(await daysOf('tenants', clinics)).toEqual([0, 5])
  expect(await at.nameOf(at.north.people.nurse.id)).toBe('nurse of north')
})

test.each(ORDERS)('a patient, by a restore of %s', async (_what, wanted) => {
  const patients: number[] = []
  for (const full_name of ['Put Back', 'Deleted Again']) {
    const made = await at.call(at.north.people.admin, 'POST', '/api/patients', { full_name })
    expect(made.status).toBe(201)
    patients.push(made.body.id)
  }
  await deletedAgo('patients', 40, patients)
  const order = { backup_id: await make(at.service, at.root), ...wanted() }
  await deletedAgo('patients', null, patients)
  await deletedAgo('patients', 5, patients.slice(1))
  await at.restore(at.root, order)
  expect(await daysOf('patients', patients)).toEqual([0, 5])
})
