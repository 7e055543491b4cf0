/**
 * Departments whose head is not eligible. Self-healing finds them, proposes a fix and applies it after confirmation,
 * over HTTP.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: Person
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService({ config: { SELF_HEALING: 'auto' } })
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
})

const scan = () => service.app.features.selfHealing.scan()

/** Returns the fix of departments as the person sees it. */
async function fixFor({ token }: Person) {
  const { status, body } = await service.call('GET', '/api/admin/self-healing/fixes', { token })
  expect(status).toBe(200)
  return body.items.find(({ key }: { key: string }) => key === 'departments.head')
}

const confirm = async () => {
  const { id } = await fixFor(root)
  return service.call('POST', `/api/admin/self-healing/confirm/${id}`, { token: root.token })
}

/** Creates a doctor of the clinic who heads a department. */
async function headed({ people }: Clinic) {
  const { token } = people.admin
  const create = async (path: string, body: object): Promise<number> =>
    (await service.call('POST', path, { token, body })).body.id
  const tag = crypto.randomUUID()
  const doctor = await create('/api/admin/users', {
    email: `${tag}@head.test`,
    password: 'a-Fine-Secret-3',
    full_name: 'A head',
    role: 'doctor',
  })
  const department = await create('/api/admin/departments', { name: tag, head_doctor_id: doctor })
  return { doctor, department, token }
}

const headOf = async (department: number) =>
  (
    await service.database.sql('select head_doctor_id from departments where id = $1', [department])
  )[0]?.head_doctor_id

describe('a department in the check for invalid heads', () => {
  test.each([
    ['blocked', 'POST', 'block', undefined],
    ['given another role', 'PUT', 'role', { role: 'nurse' }],
  ])('is found if its head was %s; after confirmation it has no head', async (...given) => {
    const [, method, verb, body] = given
    const { doctor, department, token } = await headed(north)
    await service.call(method, `/api/admin/users/${doctor}/${verb}`, { token, body })
    await scan()
    const found = await fixFor(root)
    expect(found).toMatchObject({ status: 'proposed', occurrences: 1, reason: null })
    expect(found.evidence).toEqual([
      {
        tenant_id: north.id,
        subject: `department ${department}`,
        subject_name: expect.any(String),
        people: { head_doctor_id: 'A head' },
        measured: {
          head_doctor_id: doctor,
          role: verb === 'role' ? 'nurse' : 'doctor',
          is_active: verb === 'role',
          is_own: true,
        },
        expected: { role: 'doctor', is_active: true, is_own: true },
        since: expect.stringMatching(/^\d{4}-/),
      },
    ])
    const confirmed = await confirm()
    expect(confirmed.status).toBe(200)
    expect(confirmed.body).toMatchObject({
      status: 'applied',
      occurrences: 0,
      evidence: [],
      applied_by: root.id,
      result: { repaired: 1, already_gone: 0, failed: 0, remaining: 0 },
    })
    expect(await headOf(department)).toBeNull()
    await scan()
    expect(await fixFor(root)).toMatchObject({ status: 'applied', occurrences: 0 })
  })

  test('is found if its head is missing or belongs to another tenant, without revealing which', async () => {
    const [foreign, gone] = [await headed(north), await headed(north)]
    await service.database.sql(`begin; set local session_replication_role = replica;
      update departments set head_doctor_id = ${south.people.doctor.id} where id = ${foreign.department};
      delete from users where id = ${gone.doctor};
      commit`)
    await scan()
    const { evidence } = await fixFor(root)
    const measured = evidence.map((one: { measured: object }) => one.measured)
    // The admin of the department's tenant reads this evidence. It must be the same for a user of another tenant and
    // for a user who does not exist.
    const unknown = { role: null, is_active: null, is_own: false }
    expect(measured).toEqual([
      { ...unknown, head_doctor_id: south.people.doctor.id },
      { ...unknown, head_doctor_id: gone.doctor },
    ])
    const shown = (await fixFor(north.people.admin)).evidence
    expect(shown.map((one: { people: object }) => one.people)).toEqual([{}, {}])
    expect((await confirm()).body.result).toMatchObject({ repaired: 2, remaining: 0 })
    expect(await headOf(foreign.department)).toBeNull()
    expect(await headOf(gone.department)).toBeNull()
  })

  test('is not changed if it got a new head before the repair, and is counted as gone', async () => {
    const { doctor, department, token } = await headed(north)
    await service.call('POST', `/api/admin/users/${doctor}/block`, { token })
    await scan()
    const body = { head_doctor_id: north.people.doctor.id }
    await service.call('PUT', `/api/admin/departments/${department}`, { token, body })
    const { status, result } = (await confirm()).body
    expect({ status, result }).toEqual({
      status: 'applied',
      result: expect.objectContaining({ repaired: 0, already_gone: 1, remaining: 0 }),
    })
    expect(await headOf(department)).toBe(north.people.doctor.id)
  })

  test('is never found if it has no head, or an active doctor as head', async () => {
    await headed(south)
    await scan()
    expect(await fixFor(root)).toMatchObject({ status: 'applied', occurrences: 0 })
  })

  test('is found by a later scan if a thousand departments come before it', async () => {
    await service.database.sql(
      `insert into departments (tenant_id, name, head_doctor_id)
       select $1, 'Ward ' || n, $2 from generate_series(1, 1000) n`,
      [south.id, south.people.doctor.id],
    )
    const { doctor, department, token } = await headed(north)
    await service.call('POST', `/api/admin/users/${doctor}/block`, { token })
    await scan()
    expect(await fixFor(root)).toMatchObject({ occurrences: 0 })
    await scan()
    const { evidence, status } = await fixFor(root)
    expect(status).toBe('proposed')
    expect(evidence).toMatchObject([{ subject: `department ${department}` }])
    expect((await confirm()).body.result).toMatchObject({ repaired: 1, remaining: 0 })
    expect(await headOf(department)).toBeNull()
  })
})
