/** What a dry run tells is what the restore then does, row by row. */
import { expect, test } from 'vitest'
import { PASSWORD } from '../support/clinics.ts'
import { clinicOn } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

/** Each row of the tables, as text, by its primary key. */
async function rowsOf({ sql }: Restoring, tables: readonly string[]) {
  const all = new Map<string, Map<string, string>>()
  for (const table of tables) {
    const rows = await sql(
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

/** What became of each table. */
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

/** A backup, and a clinic that has changed in all that since. */
async function changedSince(at: Restoring): Promise<string> {
  const { root, north, south, call, sql } = at
  const { doctor, nurse, auditor, receptionist } = north.people
  const hooks = clinicOn(at.service, north)
  const register = async () => (await hooks.register({ url: 'http://127.0.0.1:9/then' })).id
  const [moved, deleted] = [await register(), await register()]
  const department = `/api/admin/departments/${north.departmentId}`
  await ok(call(root, 'PUT', department, { head_doctor_id: doctor.id }))
  const enter = (full_name: string) =>
    ok(
      call(doctor, 'POST', '/api/patients', {
        full_name,
        identifiers: [{ system: 'ward', value: full_name }],
      }),
    )
  const patient = await enter('Paula')
  await sql(`update tenants set settings = '{"registration": "open"}' where id = $1`, [north.id])
  const id = await make(at.service, root)
  await enter('Later')
  await ok(call(doctor, 'PUT', `/api/patients/${patient.id}`, { full_name: 'Renamed' }))
  const added = { email: 'new@north.test', password: PASSWORD, full_name: 'New', role: 'nurse' }
  await ok(call(root, 'POST', '/api/admin/users', { ...added, tenant_id: north.id }))
  await ok(call(root, 'DELETE', `/api/admin/users/${receptionist.id}`))
  await ok(call(root, 'PUT', `/api/admin/users/${nurse.id}`, { full_name: 'Renamed' }))
  await ok(call(root, 'POST', `/api/admin/users/${auditor.id}/block`))
  await ok(call(root, 'DELETE', department))
  await hooks.call('PUT', `/${moved}`, { body: { url: 'http://127.0.0.1:9/now' } })
  await hooks.call('DELETE', `/${deleted}`)
  await ok(call(root, 'DELETE', `/api/admin/users/${doctor.id}`))
  await sql(`update tenants set settings = '{"registration": "closed"}' where id = $1`, [north.id])
  await sql(`update tenants set settings = '{"listed": false}' where id = $1`, [south.id])
  return id
}

test.each([
  ['everything', {}],
  ['everything with its access', { access: 'backup' }],
  ['one clinic', { tenant_id: 'north' }],
  ['one clinic with its access', { tenant_id: 'north', access: 'backup' }],
])('of %s', async (_, { tenant_id, ...how }: { tenant_id?: string; access?: string }) => {
  const at = await openRestoring()
  const backup_id = await changedSince(at)
  const clinic = tenant_id ? { tenant_id: at.north.id } : {}
  /** Nobody signs in behind it, which would change a row. */
  async function resultOf(wanted: object) {
    const order = { ...how, ...clinic, ...wanted, backup_id }
    const { job_id } = await ok(at.call(at.root, 'POST', '/api/admin/backup/restore', order))
    const { status, error, result } = await at.over(job_id)
    expect(status, error).toBe('completed')
    const { tables, access, deleted, purged } = result
    return { tables, access, deleted, purged }
  }
  const told = await resultOf({ dry_run: true })
  expect(told.tables).toMatchObject({
    departments: { added: 1 },
    patients: { changed: 1, removed: 1 },
    users: { added: 2, removed: 1 },
    webhooks: { added: 1, changed: 1 },
  })
  const tables = Object.keys(told.tables)
  const before = await rowsOf(at, tables)
  const done = await resultOf({ confirm: true })
  expect(done).toEqual(told)
  expect(differencesOf(before, await rowsOf(at, tables))).toEqual(told.tables)
})
