/** What is unique and changed hands since the backup goes back to whoever had it then. */
import { beforeEach, describe, expect, test } from 'vitest'
import { PASSWORD } from '../support/clinics.ts'
import { clinicOn } from '../webhooks/clinic.ts'
import { openRestoring, type Restoring } from './restoring.ts'
import { make } from './support.ts'

let at: Restoring

beforeEach(async () => {
  at = await openRestoring()
})

/** Restores it, and holds what came of it to what was said before. */
async function restoreAsRehearsed(order: object) {
  const rehearsed = await at.call(at.root, 'POST', '/api/admin/backup/restore', {
    ...order,
    dry_run: true,
  })
  const { result } = await at.over(rehearsed.body.job_id)
  const { tables } = await at.restore(at.root, order)
  expect(tables).toEqual(result.tables)
  return tables
}

describe("a patient's identifier", () => {
  const byAdmin = async (method: string, path: string, body?: object) => {
    const answer = await at.call(at.north.people.admin, method, `/api/patients${path}`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer.body
  }
  const identifiedBy = (value: string) => ({ identifiers: [{ system: 'insurer', value }] })

  /** Two patients who had one identifier, the first before the second. */
  async function oneBehindTheOther(value: string): Promise<[number, number]> {
    const first = await byAdmin('POST', '', { full_name: 'First', ...identifiedBy(value) })
    await byAdmin('DELETE', `/${first.id}`)
    const second = await byAdmin('POST', '', { full_name: 'Second', ...identifiedBy(value) })
    return [first.id, second.id]
  }
  /** Has the identifier go from one to the other. */
  async function handOver(from: number, to: number) {
    await byAdmin('DELETE', `/${from}`)
    await byAdmin('POST', `/${to}/restore`)
  }
  const tokens = () =>
    at.sql(
      'select patient_id, kind, token, is_living from patient_tokens order by patient_id, token',
    )

  test.each([
    ['everything', () => ({})],
    ['one clinic', () => ({ tenant_id: at.north.id })],
  ])('by a restore of %s', async (_what, wanted) => {
    const [first, second] = await oneBehindTheOther('X-1')
    const [older, younger] = await oneBehindTheOther('X-2')
    // The living one is now the younger of a pair, now the older.
    const [living, deleted] = await oneBehindTheOther('X-3')
    await handOver(deleted, living)
    const then = await tokens()
    const order = { backup_id: await make(at.service, at.root), ...wanted() }
    await byAdmin('PUT', `/${second}`, identifiedBy('Y-1'))
    await byAdmin('POST', `/${first}/restore`)
    await handOver(younger, older)
    await handOver(living, deleted)
    expect(await tokens()).not.toEqual(then)
    await restoreAsRehearsed(order)
    expect(await tokens()).toEqual(then)
  })
})

test('what the removal of a younger one empties is counted as rehearsed', async () => {
  const { nurse, admin } = at.north.people
  const patient = await at.call(admin, 'POST', '/api/patients', { full_name: 'Paula Patient' })
  await at.sql('update users set department_id = null where id = $1', [nurse.id])
  const backup_id = await make(at.service, at.root)
  const [department] = await at.sql(
    "insert into departments (tenant_id, name) values ($1, 'Later') returning id",
    [at.north.id],
  )
  const hired = await at.call(at.root, 'POST', '/api/admin/users', {
    email: 'hired@north.test',
    password: PASSWORD,
    full_name: 'Hired Since',
    role: 'doctor',
    tenant_id: at.north.id,
  })
  const since = [department.id, hired.body.id]
  await at.sql('update users set department_id = $2 where id = $1', [nurse.id, department.id])
  await at.sql('update departments set head_doctor_id = $2 where id = $1', [
    at.north.departmentId,
    hired.body.id,
  ])
  await at.sql('update patients set department_id = $2, attending_doctor_id = $3 where id = $1', [
    patient.body.id,
    ...since,
  ])
  const tables = await restoreAsRehearsed({ backup_id })
  expect(tables).toMatchObject({
    users: { changed: 1, removed: 1 },
    departments: { changed: 1, removed: 1 },
    patients: { changed: 1, removed: 0 },
  })
})

test("a webhook's current secret, where access comes back too", async () => {
  const { id, call } = await (async () => {
    const hooks = clinicOn(at.service, at.north)
    return { ...hooks, ...(await hooks.register()) }
  })()
  const current = () =>
    at.sql('select id from webhook_secrets where webhook_id = $1 and expires_at is null', [id])
  const first = await current()
  const backup_id = await make(at.service, at.root)
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  expect((await call('PUT', `/${id}`, { body: { secret } })).status).toBe(200)
  const second = await current()
  const order = { access: 'backup', tenant_id: at.north.id }
  const { as, safety_backup_id } = await at.restore(at.root, { ...order, backup_id })
  expect(await current()).toEqual(first)
  await at.restore(as, { ...order, backup_id: safety_backup_id })
  expect(await current()).toEqual(second)
})
