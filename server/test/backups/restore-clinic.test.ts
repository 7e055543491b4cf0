/**
 * The effects of a restore on one clinic: on its rows, its sessions and its known addresses, and on deletions that were
 * undone after the backup.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { nameKey } from '../../src/lib/fold.ts'
import type { Clinic, Person } from '../support/clinics.ts'
import { until } from '../support/until.ts'
import { attempt, guessUntilRefused, WRONG } from '../throttles/people.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make, purgeTonight } from './support.ts'

let at: Restoring

beforeAll(async () => {
  at = await openRestoring({ config: { TRUSTED_PROXIES: 1 } })
})

const setDeleted = (table: string, days: number | null, ids: readonly number[]) =>
  at.sql(`update ${table} set deleted_at = now() - make_interval(days => $1) where id = any($2)`, [
    days,
    ids,
  ])
/** Returns the age of each deletion in days. */
async function daysSinceDeletion(table: string, ids: readonly number[]) {
  const rows = await at.sql(
    `select floor(extract(epoch from now() - deleted_at) / 86400)::int as days
     from ${table} where id = any($1) order by id`,
    [ids],
  )
  return rows.map(({ days }) => days)
}

const setSettings = ({ id }: Clinic, value: object) =>
  at.sql('update tenants set settings = $2 where id = $1', [id, JSON.stringify(value)])

const namesOf = async (...ids: number[]) => Promise.all(ids.map(at.nameOf))

/** Makes two clinics that were deleted 20 days before the backup and undeleted after it. Deletes the second again. */
async function makeDeletedClinics() {
  const ids: number[] = []
  for (const name of ['back', 'again']) {
    const [{ id }] = await at.sql(
      `insert into tenants (name, subdomain) select $1, $1 || count(*) from tenants returning id`,
      [name],
    )
    ids.push(Number(id))
  }
  const [user] = await at.sql(
    // Sets the folded name. Otherwise the upkeep job would set it at an unknown time and change the row.
    `insert into users (tenant_id, email, full_name, role, password_hash, name_key, is_folded)
     values ($1, 'somebody@back.test', 'Somebody', 'nurse', '-', $2, true) returning id`,
    [ids[0], nameKey('Somebody')],
  )
  await setDeleted('tenants', 20, ids)
  return {
    ids,
    async putBack() {
      await setDeleted('tenants', null, ids)
      await setDeleted('tenants', 5, ids.slice(1))
    },
    /** Expects that the first clinic is deleted with today's date, and that the second is unchanged. */
    async expectDeleted({ deleted }: any, as: Person) {
      expect(deleted).toEqual(ids.slice(0, 1))
      const path = `/api/admin/audit?action=tenant.deleted&tenant_id=${ids[0]}`
      expect((await at.call(as, 'GET', path)).body.items).toMatchObject([
        { user_id: at.root.id, resource_id: String(ids[0]) },
      ])
      // Uses a shorter retention than the service, because the service's own purge may run at the same time.
      await purgeTonight(at.service, 10)
      expect(await daysSinceDeletion('tenants', ids)).toEqual([0, 5])
      expect(await namesOf(user.id)).toEqual(['Somebody'])
    },
  }
}

/** Makes two patients that were deleted 40 days before the backup and undeleted after it. Deletes the second again. */
async function makeDeletedPatients(admin: Person) {
  const ids: number[] = []
  for (const full_name of ['Put Back', 'Deleted Again']) {
    const made = await at.call(admin, 'POST', '/api/patients', { full_name })
    expect(made.status).toBe(201)
    ids.push(made.body.id)
  }
  await setDeleted('patients', 40, ids)
  return {
    ids,
    async putBack() {
      await setDeleted('patients', null, ids)
      await setDeleted('patients', 5, ids.slice(1))
    },
  }
}

const dryRun = async (order: object) => {
  const wanted = { ...order, dry_run: true }
  const { body } = await at.call(at.root, 'POST', '/api/admin/backup/restore', wanted)
  return (await at.over(body.job_id)).result
}

const HOME = '198.51.100.1'
const STRANGER = '203.0.113.1'

describe.each<[string, (id: number) => { tenant_id?: number; access?: string }]>([
  ['everything', () => ({})],
  ['everything with its access', () => ({ access: 'backup' })],
  ['one clinic', (tenant_id) => ({ tenant_id })],
])('a restore of %s', (what, wanted) => {
  let clinic: Clinic
  let patients: Awaited<ReturnType<typeof makeDeletedPatients>>
  let clinics: Awaited<ReturnType<typeof makeDeletedClinics>>
  let neighbour: Person
  let refreshToken: string
  let neighbours: any[]
  let rehearsed: any
  let done: any

  const enter = (from: string) =>
    attempt(at.service, { email: clinic.people.admin.email, subdomain: clinic.subdomain, from })
  const guess = () =>
    attempt(at.service, {
      email: clinic.people.admin.email,
      subdomain: clinic.subdomain,
      password: WRONG,
      from: STRANGER,
    })
  const neighbourRows = () =>
    at.sql('select xmin::text, * from users where tenant_id = $1 order by id', [at.south.id])

  beforeAll(async () => {
    clinic = await at.anotherClinic()
    neighbour = await at.again(at.south.people.nurse, 'south')
    await setSettings(clinic, { colour: 'blue', registration: 'open' })
    patients = await makeDeletedPatients(clinic.people.admin)
    clinics = await makeDeletedClinics()
    refreshToken = (await enter(HOME)).body.refresh_token
    const backup_id = await make(at.service, at.root)
    const { nurse } = clinic.people
    for (const { id } of [nurse, neighbour]) await at.rename(at.root, id, 'Since')
    await setSettings(clinic, { registration: 'closed' })
    await patients.putBack()
    await clinics.putBack()
    await guessUntilRefused(guess)
    neighbours = await neighbourRows()
    const order = { backup_id, ...wanted(clinic.id) }
    rehearsed = await dryRun(order)
    done = await at.restore(at.root, order)
  })

  test('restores the rows of the clinic', async () => {
    expect(await namesOf(clinic.people.nurse.id)).toEqual([`nurse of ${clinic.subdomain}`])
  })

  test('ends all sessions of the clinic', async () => {
    const body = { refresh_token: refreshToken }
    const refreshed = await until('the clinic to be open again', async () => {
      const answer = await at.service.call('POST', '/api/auth/refresh', { body })
      return answer.status === 503 ? undefined : answer
    })
    expect(refreshed.status).toBe(401)
    const open = await at.sql(
      `select from sessions
       where user_id = $1 and ended_at is null and end_reason is distinct from 'restored'`,
      [clinic.people.admin.id],
    )
    expect(open).toEqual([])
  })

  test('keeps the IP addresses known for a user, so that guesses from elsewhere do not lock the user out', async () => {
    // Stops the clock, so that the wait after the wrong guesses lasts until the sign-ins.
    at.service.clock.stop()
    // A restore of everything deletes the failure counts of earlier guesses.
    await guessUntilRefused(guess)
    expect((await enter(HOME)).status).toBe(200)
    expect((await enter('192.0.2.1')).status).toBe(429)
  })

  test('deletes a patient again who was undeleted after the backup, counting the retention days from the restore', async () => {
    expect(await daysSinceDeletion('patients', patients.ids)).toEqual([0, 5])
  })

  if (what === 'one clinic')
    test('touches no row and no session of another clinic', async () => {
      // Checks that the restore did not even rewrite the other clinic's rows.
      expect(await neighbourRows()).toEqual(neighbours)
      expect((await at.call(neighbour, 'GET', '/api/users/me')).status).toBe(200)
      expect(done.deleted).toEqual([])
    })
  else
    test('deletes a clinic again that was undeleted after the backup, counting the retention days from the restore', async () => {
      expect(rehearsed.deleted).toEqual(clinics.ids.slice(0, 1))
      await clinics.expectDeleted(done, done.as)
    })

  if (what === 'one clinic')
    test('keeps registration closed if it was closed after the backup, and reports this setting', async () => {
      const [{ settings }] = await at.sql('select settings from tenants where id = $1', [clinic.id])
      expect(settings).toEqual({ colour: 'blue', registration: 'closed' })
      const fields = ['registration']
      expect(done.access.cases).toEqual([{ table: 'tenants', id: clinic.id, fields }])
    })
})

test('a restore of a clinic that was undeleted after the backup deletes the clinic again', async () => {
  at.root.token = (await at.again(at.root)).token
  const clinics = await makeDeletedClinics()
  const order = { backup_id: await make(at.service, at.root), tenant_id: clinics.ids[0] }
  await clinics.putBack()
  expect(await dryRun(order)).toMatchObject({ deleted: clinics.ids.slice(0, 1) })
  const done = await at.restore(at.root, order)
  await clinics.expectDeleted(done, done.as)
})

test('an admin can restore their own clinic from its own backup without touching rows of another clinic', async () => {
  const clinic = await at.anotherClinic()
  const { admin, nurse } = clinic.people
  const backup_id = await make(at.service, admin)
  await at.rename(admin, nurse.id, 'Since')
  const rows = () =>
    at.sql('select xmin::text, * from users where tenant_id <> $1 order by id', [clinic.id])
  const before = await rows()
  await at.restore(admin, { backup_id }, clinic.subdomain)
  expect(await at.nameOf(nurse.id)).toBe(`nurse of ${clinic.subdomain}`)
  expect(await rows()).toEqual(before)
})
