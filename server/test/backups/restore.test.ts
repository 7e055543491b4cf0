/** Restores in place: data come back, access does not, neighbours notice nothing, and nothing is lost. */
import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeClinic, PASSWORD, type Person, signIn } from '../support/clinics.ts'
import { SUPERADMIN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { fileOf, make } from './support.ts'

let service: Restoring['service']
let root: Restoring['root']
let north: Restoring['north']
let south: Restoring['south']
let again: Restoring['again']
let call: Restoring['call']
let sql: Restoring['sql']
let restore: Restoring['restore']
let over: Restoring['over']
let nameOf: Restoring['nameOf']
let rename: Restoring['rename']

beforeEach(async () => {
  ;({ again, service, root, north, south, call, sql, restore, over, nameOf, rename } =
    await openRestoring())
})

describe('everything', () => {
  test('comes back: what was changed, added and deleted since', async () => {
    const { nurse, doctor, admin } = north.people
    const id = await make(service, root)
    await rename(root, nurse.id, 'Renamed Since')
    await call(root, 'PUT', `/api/admin/departments/${north.departmentId}`, {
      name: 'Renamed',
      head_doctor_id: doctor.id,
    })
    const added = await call(root, 'POST', '/api/admin/users', {
      email: 'new@north.test',
      password: PASSWORD,
      full_name: 'New',
      role: 'nurse',
      tenant_id: north.id,
    })
    await call(root, 'DELETE', `/api/admin/users/${admin.id}`)
    const later = await makeClinic(service, root, 'later')
    const rehearsed = await call(root, 'POST', '/api/admin/backup/restore', {
      backup_id: id,
      dry_run: true,
    })
    expect((await over(rehearsed.body.job_id)).result).toMatchObject({ deleted: [later.id] })
    const { tables, safety_backup_id, as, deleted } = await restore(root, { backup_id: id })
    expect(tables.users).toEqual({ added: 1, changed: 1, removed: 1 })
    expect(tables.departments).toMatchObject({ changed: 1 })
    expect(await nameOf(nurse.id)).toBe(`nurse of north`)
    expect(await nameOf(added.body.id)).toBeUndefined()
    const departments = await call(as, 'GET', `/api/admin/departments?tenant_id=${north.id}`)
    expect(departments.body.items).toMatchObject([{ name: 'Surgery', head_doctor_id: null }])
    // A clinic that the backup does not know is deleted as by hand: it can be put back.
    const [clinic] = await sql('select deleted_at, is_active from tenants where id = $1', [
      later.id,
    ])
    expect(clinic).toMatchObject({ deleted_at: expect.anything(), is_active: true })
    expect(deleted).toEqual([later.id])
    const told = `/api/admin/audit?action=tenant.deleted&tenant_id=${later.id}`
    expect((await call(as, 'GET', told)).body.items).toMatchObject([
      { user_id: root.id, resource_id: String(later.id) },
    ])
    // What was taken back is in the safety backup.
    const listed = (await call(as, 'GET', '/api/admin/backup/list')).body.items
    expect(listed.find((one: any) => one.backup_id === safety_backup_id)).toMatchObject({
      reason: 'safety',
      status: 'completed',
    })
    const undone = await restore(as, { backup_id: safety_backup_id })
    expect(undone.tables.users).toMatchObject({ changed: 1 })
    expect(await nameOf(nurse.id)).toBe('Renamed Since')
    expect(await nameOf(added.body.id)).toBe('New')
  })

  test('ends every session, and tells each clinic once', async () => {
    const id = await make(service, root)
    await restore(root, { backup_id: id })
    const { token } = north.people.nurse
    expect((await service.call('GET', '/api/users/me', { token })).status).toBe(401)
    const entries = await sql(
      "select tenant_id from journal where action = 'backup.restored' order by 1",
    )
    expect(entries.map(({ tenant_id }) => Number(tenant_id))).toEqual(
      [root.tenant_id, north.id, south.id].sort((a, b) => a - b),
    )
    const [{ count }] = await sql(
      "select count(*)::int from journal where action = 'user.updated' and created_at > now() - interval '1 minute'",
    )
    expect(count).toBe(0)
  })

  test('swaps names that changed hands meanwhile', async () => {
    const [other] = await sql(
      "insert into departments (tenant_id, name) values ($1, 'Cardiology') returning id",
      [north.id],
    )
    const id = await make(service, root)
    await sql("update departments set name = 'x' where id = $1", [other.id])
    await sql("update departments set name = 'Cardiology' where id = $1", [north.departmentId])
    await sql("update departments set name = 'Surgery' where id = $1", [other.id])
    await restore(root, { backup_id: id })
    const rows = await sql('select id, name from departments where tenant_id = $1', [north.id])
    expect(rows.find((row) => row.id === other.id)?.name).toBe('Cardiology')
  })
})

describe('access', () => {
  /** A backup of when all was open, and what was closed since. */
  async function closedSince() {
    const { nurse, doctor, auditor, admin, receptionist } = north.people
    await sql('update users set can_see_all_patients = true where id = $1', [doctor.id])
    const id = await make(service, root)
    const users = '/api/admin/users'
    const answers = [
      await call(root, 'POST', `${users}/${nurse.id}/block`),
      await call(root, 'PUT', `${users}/${doctor.id}`, { can_see_all_patients: false }),
      await call(root, 'DELETE', `${users}/${auditor.id}`),
      await call(root, 'PUT', `${users}/${receptionist.id}/password`, {
        password: 'another-Horse-9',
      }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 204, 200])
    await sql("update users set role = 'receptionist' where id = $1", [admin.id])
    return id
  }
  const rowOf = async (id: number) =>
    (await sql('select role, is_active, can_see_all_patients from users where id = $1', [id]))[0]

  test('does not come back: the stricter of then and now wins, and each case is told', async () => {
    const { nurse, doctor, auditor, admin, receptionist } = north.people
    const { access } = await restore(root, { backup_id: await closedSince() })
    expect(await rowOf(nurse.id)).toMatchObject({ is_active: false })
    expect(await rowOf(admin.id)).toMatchObject({ role: 'receptionist' })
    expect(await rowOf(doctor.id)).toMatchObject({ can_see_all_patients: false })
    expect(await rowOf(auditor.id)).toMatchObject({ is_active: false, role: 'auditor' })
    await expect(
      signIn(service, { email: receptionist.email, password: PASSWORD, subdomain: 'north' }),
    ).rejects.toThrow('401')
    await again({ ...receptionist, password: 'another-Horse-9' }, 'north')
    const [entry] = await sql(
      `select changes -> 'access_kept' as kept from journal
       where action = 'backup.restored' and tenant_id = $1`,
      [north.id],
    )
    expect(entry.kept).toEqual({ total: access.total, cases: access.cases })
    expect(access.cases).toEqual(
      expect.arrayContaining([
        { table: 'users', id: nurse.id, fields: ['is_active'] },
        { table: 'users', id: admin.id, fields: ['role'] },
        { table: 'users', id: doctor.id, fields: ['can_see_all_patients'] },
        { table: 'users', id: auditor.id, fields: ['deleted'] },
        { table: 'users', id: receptionist.id, fields: ['password'] },
      ]),
    )
  })

  test.each([
    ['doctor', 'receptionist', 'receptionist'],
    ['doctor', 'auditor', 'auditor'],
    ['auditor', 'doctor', 'doctor'],
    ['receptionist', 'nurse', 'receptionist'],
    ['auditor', 'admin', 'auditor'],
  ])('of a %s who is %s today is that of a %s', async (then, now, afterwards) => {
    const { id } = north.people.nurse
    const become = (role: string) => sql('update users set role = $2 where id = $1', [id, role])
    await become(then)
    const backup = await make(service, root)
    await become(now)
    await restore(root, { backup_id: backup })
    expect(await rowOf(id)).toMatchObject({ role: afterwards })
  })

  test('comes back where a superadmin asks for it, but for their own', async () => {
    const { nurse, doctor, auditor, admin, receptionist } = north.people
    const id = await closedSince()
    await restore(root, { backup_id: id, access: 'backup' })
    expect(await rowOf(nurse.id)).toMatchObject({ is_active: true })
    expect(await rowOf(admin.id)).toMatchObject({ role: 'admin' })
    expect(await rowOf(doctor.id)).toMatchObject({ can_see_all_patients: true })
    expect(await rowOf(auditor.id)).toMatchObject({ is_active: true })
    await again(receptionist, 'north')
    await again({ ...root, ...SUPERADMIN })
  })

  /** How one may register: then, now, and afterwards; undefined where the settings say nothing. */
  const REGISTRATIONS = [
    ['open', 'closed', 'closed'],
    ['open', 'approval', 'approval'],
    ['open', undefined, undefined],
    ['approval', 'closed', 'closed'],
    [undefined, 'open', undefined],
    ['closed', 'open', 'closed'],
    ['open', 'open', 'open'],
  ] as const
  const isKept = ([then, now, afterwards]: readonly (string | undefined)[]) =>
    now === afterwards && now !== then

  /** A backup of clinics that let register as they did then; today they do as now. */
  async function registeringThenAndNow() {
    const settingsOf = (registration?: string) =>
      JSON.stringify({ colour: 'blue', ...(registration ? { registration } : {}) })
    const clinics = []
    for (const [index, how] of REGISTRATIONS.entries()) {
      const [{ id }] = await sql(
        'insert into tenants (name, subdomain, settings) values ($1, $1, $2) returning id',
        [`clinic-${index}`, settingsOf(how[0])],
      )
      clinics.push({ id: Number(id), how })
    }
    const backup = await make(service, root)
    for (const { id, how } of clinics)
      await sql('update tenants set settings = $2 where id = $1', [id, settingsOf(how[1])])
    return { backup, clinics }
  }
  const settingsNow = async (id: number) =>
    (await sql('select settings from tenants where id = $1', [id]))[0].settings

  test('lets nobody register whom a clinic has shut out since, and tells it', async () => {
    const { backup, clinics } = await registeringThenAndNow()
    const { access } = await restore(root, { backup_id: backup })
    for (const { id, how } of clinics)
      expect((await settingsNow(id)).registration, how.join()).toBe(how[2])
    expect(access.cases).toEqual(
      clinics
        .filter(({ how }) => isKept(how))
        .map(({ id }) => ({ table: 'tenants', id, fields: ['registration'] })),
    )
  })

  test('of one clinic lets nobody register either, unless its access is asked for', async () => {
    const { backup, clinics } = await registeringThenAndNow()
    const [{ id } = { id: 0 }] = clinics
    const { access, as } = await restore(root, { backup_id: backup, tenant_id: id })
    expect(await settingsNow(id)).toEqual({ colour: 'blue', registration: 'closed' })
    expect(access.cases).toEqual([{ table: 'tenants', id, fields: ['registration'] }])
    await restore(as, { backup_id: backup, tenant_id: id, access: 'backup' })
    expect(await settingsNow(id)).toMatchObject({ registration: 'open' })
  })

  test('a webhook that was deleted since comes back inactive, a deactivated one stays so', async () => {
    const token = north.people.admin.token
    const register = async (url: string) =>
      (
        await service.call('POST', '/api/webhooks/register', {
          token,
          body: { url, events: ['*'] },
        })
      ).body.id
    const [deleted, off] = [
      await register('http://127.0.0.1:9/a'),
      await register('http://127.0.0.1:9/b'),
    ]
    const id = await make(service, root)
    await service.call('DELETE', `/api/webhooks/${deleted}`, { token })
    await service.call('PUT', `/api/webhooks/${off}`, { token, body: { is_active: false } })
    await restore(root, { backup_id: id })
    const { token: fresh } = await again(north.people.admin, 'north')
    const items = (await service.call('GET', '/api/webhooks', { token: fresh })).body
    expect(items).toMatchObject([{ is_active: false }, { is_active: false }])
    for (const webhook of [deleted, off]) {
      const activate = { token: fresh, body: { is_active: true } }
      expect((await service.call('PUT', `/api/webhooks/${webhook}`, activate)).status).toBe(200)
    }
  })
})

describe('one clinic', () => {
  test.each<[string, object]>([
    ['out of a backup of everything', {}],
    ['out of its own', { type: 'tenant' }],
  ])('%s: alone is put back', async (_, what) => {
    const own = 'type' in what
    const id = await make(service, root, own ? { ...what, tenant_id: north.id } : {})
    await rename(root, north.people.nurse.id, 'North Since')
    await rename(root, south.people.nurse.id, 'South Since')
    const before = await sql('select xmin::text, * from users where tenant_id = $1 order by id', [
      south.id,
    ])
    await restore(root, { backup_id: id, ...(own ? {} : { tenant_id: north.id }) })
    expect(await nameOf(north.people.nurse.id)).toBe('nurse of north')
    expect(await nameOf(south.people.nurse.id)).toBe('South Since')
    // Not even rewritten.
    expect(
      await sql('select xmin::text, * from users where tenant_id = $1 order by id', [south.id]),
    ).toEqual(before)
    const { token } = south.people.nurse
    expect((await service.call('GET', '/api/users/me', { token })).status).toBe(200)
  })

  test('by its own admin, from its own backup', async () => {
    const { admin, nurse } = north.people
    const id = await make(service, admin)
    await rename(admin, nurse.id, 'Since')
    await restore(admin, { backup_id: id }, 'north')
    expect(await nameOf(nurse.id)).toBe('nurse of north')
  })
})

describe('is refused, and nothing is touched', () => {
  const refusal = async (person: Person, body: object) => {
    const answer = await call(person, 'POST', '/api/admin/backup/restore', {
      confirm: true,
      ...body,
    })
    if (answer.status !== 200) return `${answer.status} ${JSON.stringify(answer.body.detail)}`
    return (await over(answer.body.job_id)).error
  }

  test('without confirm; of another type; to an admin what is not theirs', async () => {
    const full = await make(service, root)
    const own = await make(service, north.people.admin)
    expect(await refusal(root, { backup_id: full, confirm: false })).toMatch(/422.*confirm/)
    expect(await refusal(root, { backup_id: own, type: 'full' })).toMatch(/409.*one tenant/)
    expect(await refusal(root, { backup_id: own, tenant_id: south.id })).toMatch(/409.*another/)
    expect(await refusal(north.people.admin, { backup_id: full })).toMatch(/404/)
    expect(await refusal(south.people.admin, { backup_id: own })).toMatch(/404/)
    expect(await refusal(north.people.admin, { backup_id: own, access: 'backup' })).toMatch(/403/)
  })

  test('of another installation, schema or file', async () => {
    const id = await make(service, root)
    await rename(root, north.people.nurse.id, 'Since')
    const name = () => nameOf(north.people.nurse.id)
    await sql('update installation set id = gen_random_uuid()')
    expect(await refusal(root, { backup_id: id })).toMatch(/another installation/)
    await sql("insert into migrations (version, name, checksum) values (9999, 'later', 'x')")
    const newer = await make(service, root)
    await sql('delete from migrations where version = 9999')
    expect(await refusal(root, { backup_id: newer })).toMatch(
      /^Refused: the backup has schema 9999, and this release knows \d+: start the newer release/,
    )
    const second = await make(service, root)
    await sql("update migrations set checksum = 'other' where version = 1")
    expect(await refusal(root, { backup_id: second })).toMatch(/other migrations/)
    await writeFile(fileOf(service, second), 'something else')
    expect(await refusal(root, { backup_id: second })).toMatch(/cannot be used/)
    expect(await name()).toBe('Since')
    expect((await call(root, 'GET', '/api/users/me')).status).toBe(200)
  })

  test.each([
    ['everything', (id: string) => ({ backup_id: id })],
    ['one clinic', (id: string) => ({ backup_id: id, tenant_id: north.id })],
  ])('of %s whose sealed fields do not open', async (_what, wanted) => {
    const created = await call(north.people.doctor, 'POST', '/api/patients', {
      full_name: 'Paula Patient',
    })
    expect(created.status).toBe(201)
    const flip = () =>
      sql(`update patients set sealed_full_name = set_byte(sealed_full_name, length(sealed_full_name) - 1,
        (get_byte(sealed_full_name, length(sealed_full_name) - 1) # 1))`)
    await flip()
    const id = await make(service, root)
    await flip()
    await rename(root, north.people.nurse.id, 'Since')
    expect(await refusal(root, wanted(id))).toMatch(
      /patients[.]sealed_full_name of row \d+ does not open/,
    )
    expect(await nameOf(north.people.nurse.id)).toBe('Since')
    const read = await until('the service to be open again', async () => {
      const path = `/api/patients/${created.body.id}`
      const answer = await call(north.people.doctor, 'GET', path)
      return answer.status === 503 ? undefined : answer
    })
    expect(read.body).toMatchObject({ full_name: 'Paula Patient' })
  })

  test('of a purged tenant', async () => {
    const id = await make(service, root)
    await sql(
      "insert into journal (tenant_id, action, resource_type) values ($1, 'tenant.purged', 'tenant')",
      [north.id],
    )
    await sql('update departments set head_doctor_id = null where tenant_id = $1', [north.id])
    await sql('delete from tenants where id = $1', [north.id])
    expect(await refusal(root, { backup_id: id, tenant_id: north.id })).toMatch(/purged/)
    // And it is left out where everything else comes back.
    await restore(root, { backup_id: id })
    expect(await sql('select from tenants where id = $1', [north.id])).toEqual([])
  })
})
