/**
 * A restore changes exactly the rows that its dry run reports. This includes unique values that have moved to other
 * rows.
 */
import { beforeAll, expect, test } from 'vitest'
import { addCaseNames } from '../../src/features/backups/restore-in-place/case-names.ts'
import type { RestoreResult } from '../../src/features/backups/restore-in-place/outcome.ts'
import { type Clinic, PASSWORD } from '../support/clinics.ts'
import { clinicOn } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restore-scene.ts'
import { make } from './support.ts'

let at: Restoring

beforeAll(async () => {
  at = await openRestoring()
})

/** Returns each row of the tables as text, by its primary key. */
async function rowsOf(tables: readonly string[]) {
  const all = new Map<string, Map<string, string>>()
  for (const table of tables) {
    const rows = await at.sql(
      `select (select string_agg(to_jsonb(t) ->> a.attname, ',' order by a.attnum) from pg_index i
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
          where i.indrelid = '${table}'::regclass and i.indisprimary) as key, t::text as row
        from ${table} t`,
    )
    all.set(table, new Map(rows.map(({ key, row }) => [key, row])))
  }
  return all
}

type Rows = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Counts the rows of each table that were added, changed and removed. */
function differencesOf(before: Rows, after: Rows) {
  const found: Record<string, { added: number; changed: number; removed: number }> = {}
  for (const [table, then] of before) {
    const now = after.get(table) ?? new Map<string, string>()
    found[table] = {
      added: [...now.keys()].filter((key) => !then.has(key)).length,
      changed: [...then].filter(([key, row]) => now.has(key) && now.get(key) !== row).length,
      removed: [...then.keys()].filter((key) => !now.has(key)).length,
    }
  }
  return found
}

async function ok(answer: ReturnType<Restoring['call']>) {
  const { status, body } = await answer
  expect([200, 201, 204], JSON.stringify(body)).toContain(status)
  return body
}

/** Makes patients of the clinic that exchange identifiers. */
function identifiersOf({ people: { admin } }: Clinic) {
  const byAdmin = (method: string, path: string, body?: object) =>
    ok(at.call(admin, method, `/api/patients${path}`, body))
  const identifiedBy = (value: string) => ({ identifiers: [{ system: 'insurer', value }] })
  /** Makes two patients with the same identifier. The first was deleted before the second was made. */
  async function makePair(value: string): Promise<[number, number]> {
    const first = await byAdmin('POST', '', { full_name: 'First', ...identifiedBy(value) })
    await byAdmin('DELETE', `/${first.id}`)
    const second = await byAdmin('POST', '', { full_name: 'Second', ...identifiedBy(value) })
    return [first.id, second.id]
  }
  async function handOver(from: number, to: number) {
    await byAdmin('DELETE', `/${from}`)
    await byAdmin('POST', `/${to}/restore`)
  }
  return {
    /** Makes the pairs. Returns a function that exchanges the identifiers of each pair. */
    async make() {
      const [first, second] = await makePair('X-1')
      const [older, younger] = await makePair('X-2')
      // In the first pair the existing patient is the newer one, and in the second pair the older one.
      const [living, deleted] = await makePair('X-3')
      await handOver(deleted, living)
      return async () => {
        await byAdmin('PUT', `/${second}`, identifiedBy('Y-1'))
        await byAdmin('POST', `/${first}/restore`)
        await handOver(younger, older)
        await handOver(living, deleted)
      }
    },
  }
}

const tokens = () =>
  at.sql('select patient_id, kind, token, is_living from patient_tokens order by patient_id, token')

/** Makes a backup, then changes the clinic. Returns the backup and the users' tokens from before the backup. */
async function changedSince(clinic: Clinic) {
  const { root, south, call, sql } = at
  const { admin, doctor, nurse, auditor, receptionist } = clinic.people
  const hooks = clinicOn(at.service, clinic)
  const register = async () => (await hooks.register({ url: 'http://127.0.0.1:9/then' })).id
  const [moved, deleted] = [await register(), await register()]
  const department = `/api/admin/departments/${clinic.departmentId}`
  await ok(call(root, 'PUT', department, { head_doctor_id: doctor.id }))
  const enter = (full_name: string) =>
    ok(
      call(doctor, 'POST', '/api/patients', {
        full_name,
        identifiers: [{ system: 'ward', value: full_name }],
      }),
    )
  const patient = await enter('Paula')
  const { id: unattended } = await ok(
    call(admin, 'POST', '/api/patients', { full_name: 'Una Unattended' }),
  )
  await sql('update users set department_id = null where id = $1', [admin.id])
  const insertDepartment = async (name: string): Promise<number> => {
    const text = 'insert into departments (tenant_id, name) values ($1, $2) returning id'
    return (await sql(text, [clinic.id, name]))[0].id
  }
  const headless = await insertDepartment('Headless')
  const exchange = await identifiersOf(clinic).make()
  const settings = (id: number, value: object) =>
    sql('update tenants set settings = $2 where id = $1', [id, JSON.stringify(value)])
  await settings(clinic.id, { registration: 'open' })
  await settings(south.id, {})
  const then = await tokens()
  const backup_id = await make(at.service, root)

  await exchange()
  await enter('Later')
  await ok(call(doctor, 'PUT', `/api/patients/${patient.id}`, { full_name: 'Renamed' }))
  const added = { password: PASSWORD, full_name: 'New', tenant_id: clinic.id }
  const hire = (role: string) =>
    ok(
      call(root, 'POST', '/api/admin/users', {
        ...added,
        email: `new-${role}@${clinic.subdomain}.test`,
        role,
      }),
    )
  await hire('nurse')
  // These rows refer to rows that the restore removes. The restore clears the references.
  const hired = await hire('doctor')
  const later = await insertDepartment('Later')
  await sql('update users set department_id = $2 where id = $1', [admin.id, later])
  await sql('update departments set head_doctor_id = $2 where id = $1', [headless, hired.id])
  await sql('update patients set department_id = $2, attending_doctor_id = $3 where id = $1', [
    unattended,
    later,
    hired.id,
  ])
  await ok(call(root, 'DELETE', `/api/admin/users/${receptionist.id}`))
  await ok(call(root, 'PUT', `/api/admin/users/${nurse.id}`, { full_name: 'Renamed' }))
  await ok(call(root, 'POST', `/api/admin/users/${auditor.id}/block`))
  await ok(call(root, 'DELETE', department))
  await hooks.call('PUT', `/${moved}`, { body: { url: 'http://127.0.0.1:9/now' } })
  await hooks.call('DELETE', `/${deleted}`)
  await ok(call(root, 'DELETE', `/api/admin/users/${doctor.id}`))
  await settings(clinic.id, { registration: 'closed' })
  await settings(south.id, { listed: false })
  expect(await tokens()).not.toEqual(then)
  return { backup_id, then }
}

test.each<[string, { isOne: boolean; access?: string }]>([
  ['everything', { isOne: false }],
  ['everything with its access', { isOne: false, access: 'backup' }],
  ['one clinic', { isOne: true }],
  ['one clinic with its access', { isOne: true, access: 'backup' }],
])('a restore of %s changes exactly what its dry run reported', async (_, { isOne, ...how }) => {
  const clinic = await at.anotherClinic()
  const { backup_id, then } = await changedSince(clinic)
  /** Requests a restore. Nobody signs in after the restore, because a sign-in would change a row. */
  async function resultOf(wanted: object) {
    const order = { ...how, ...(isOne ? { tenant_id: clinic.id } : {}), ...wanted, backup_id }
    const { job_id } = await ok(at.call(at.root, 'POST', '/api/admin/backup/restore', order))
    const { status, error, result } = await at.over(job_id)
    expect(status, error).toBe('completed')
    const { tables, access, deleted, purged } = result
    return { tables, access, deleted, purged } as RestoreResult
  }
  const told = await resultOf({ dry_run: true })
  expect(told.tables).toMatchObject({
    departments: { added: 1, changed: 1, removed: 1 },
    users: { added: 2, removed: 2 },
    webhooks: { added: 1, changed: 1 },
  })
  const tables = Object.keys(told.tables)
  const before = await rowsOf(tables)
  const done = await resultOf({ confirm: true })
  // Only the preview has the names of people and clinics.
  const { cases, total } = told.access
  const unnamed = cases.map(({ name: _name, ...one }) => one)
  expect(done).toEqual({ ...told, access: { total, cases: unnamed } })
  const people = await at.service.database.sql<{ id: number; full_name: string }>(
    'select id, full_name from users',
  )
  const namesOf = ({ table, id }: { table: string; id: number }) =>
    table === 'users' ? people.find((one) => one.id === id)?.full_name : expect.anything()
  const named = cases.filter(({ table }: { table: string }) => table !== 'webhooks')
  for (const one of named) expect(one.name).toEqual(namesOf(one))
  // The API adds the current names to a stored result.
  const shown = await at.service.app.db.acrossTenants((tx) => addCaseNames(tx, done), 'read')
  for (const one of shown.access.cases)
    expect(one.name).toEqual(one.table === 'webhooks' ? expect.any(String) : namesOf(one))
  expect(differencesOf(before, await rowsOf(tables))).toEqual(told.tables)
  expect(await tokens()).toEqual(then)
})
