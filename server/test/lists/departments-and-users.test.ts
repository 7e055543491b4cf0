/** The names and counts in responses about users and departments. */
import { beforeAll, describe, expect, it } from 'vitest'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let root: string
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService()
  const operator = await superadmin(service)
  root = operator.token
  north = await makeClinic(service, operator, 'north')
  south = await makeClinic(service, operator, 'south')
})

const call = (method: string, path: string, body?: object, token = north.people.admin.token) =>
  service.call(method, path, { token, ...(body ? { body } : {}) })

const createDepartment = async (fields: object) =>
  (await call('POST', '/api/admin/departments', fields)).body

const createUser = async (fields: object) => {
  const email = `${crypto.randomUUID()}@north.test`
  const user = { email, password: 'a-Fine-Secret-3', full_name: 'Una User', role: 'nurse' }
  return (await call('POST', '/api/admin/users', { ...user, ...fields })).body
}

describe('a user', () => {
  it("is returned with the department's name by each operation", async () => {
    const { id: department_id } = await createDepartment({ name: 'Oncology' })
    const created = await createUser({ department_id })
    expect(created.department_name).toBe('Oncology')
    const path = `/api/admin/users/${created.id}`
    await call('PUT', `/api/admin/departments/${department_id}`, { name: 'Haematology' })
    for (const { body } of [
      await call('GET', path),
      await call('PUT', path, { full_name: 'Una Renamed' }),
      await call('PUT', path, { full_name: 'Una Renamed' }),
      await call('PUT', `${path}/role`, { role: 'receptionist' }),
      await call('POST', `${path}/block`),
      await call('POST', `${path}/unblock`),
    ])
      expect(body).toMatchObject({ department_id, department_name: 'Haematology' })
    const { body } = await call('GET', `/api/admin/users?department_id=${department_id}`)
    expect(body.items).toMatchObject([{ id: created.id, department_name: 'Haematology' }])
  })

  it("is returned without a department's name if the user has no department", async () => {
    const { id: department_id } = await createDepartment({ name: 'Closing' })
    const { id } = await createUser({ department_id })
    const moved = await createUser({ department_id })
    expect((await createUser({})).department_name).toBeNull()
    const left = await call('PUT', `/api/admin/users/${moved.id}`, { department_id: null })
    expect(left.body).toMatchObject({ department_id: null, department_name: null })
    await call('DELETE', `/api/admin/departments/${department_id}`)
    const { body } = await call('GET', `/api/admin/users/${id}`)
    expect(body).toMatchObject({ department_id: null, department_name: null })
  })
})

describe('a department', () => {
  it('is returned with its head and the number of its users by each operation', async () => {
    const doctor = await createUser({ role: 'doctor', full_name: 'Dora Doctor' })
    const created = await createDepartment({ name: 'Neurology', head_doctor_id: doctor.id })
    expect(created).toMatchObject({ head_doctor_name: 'Dora Doctor', members: 0 })
    const blocked = await createUser({ department_id: created.id })
    await createUser({ department_id: created.id })
    await call('POST', `/api/admin/users/${blocked.id}/block`)
    await call('PUT', `/api/admin/users/${doctor.id}`, { full_name: 'Dora Director' })
    const path = `/api/admin/departments/${created.id}`
    const expected = { head_doctor_name: 'Dora Director', members: 2 }
    for (const { body } of [
      await call('GET', path),
      await call('PUT', path, { name: 'Neurosurgery' }),
      await call('PUT', path, { name: 'Neurosurgery' }),
    ])
      expect(body).toMatchObject(expected)
    const { body } = await call('GET', '/api/admin/departments?search=neurosurgery')
    expect(body.items).toMatchObject([expected])
    await call('DELETE', `/api/admin/users/${blocked.id}`)
    await call('DELETE', `/api/admin/users/${doctor.id}`)
    expect((await call('GET', path)).body).toMatchObject({
      head_doctor_id: null,
      head_doctor_name: null,
      members: 1,
    })
  })

  it('is listed with only its own users, even for a superadmin', async () => {
    const { id: department_id } = await createDepartment({ name: 'Radiology' })
    await createUser({ department_id })
    const body = { name: 'Radiology', tenant_id: south.id }
    await call('POST', '/api/admin/departments', body, root)
    const list = '/api/admin/departments?search=radiology'
    const { items } = (await call('GET', list, undefined, root)).body
    const counts = items.map(({ tenant_id, members }: { tenant_id: number; members: number }) => [
      tenant_id,
      members,
    ])
    expect(counts).toEqual([
      [north.id, 1],
      [south.id, 0],
    ])
  })
})

it('an auditor may read a single user, their own tenant and a single department', async () => {
  const { auditor, nurse } = north.people
  const read = async (path: string) => (await call('GET', path, undefined, auditor.token)).status
  expect(await read(`/api/admin/users/${nurse.id}`)).toBe(200)
  expect(await read(`/api/admin/tenants/${north.id}`)).toBe(200)
  expect(await read(`/api/admin/departments/${north.departmentId}`)).toBe(200)
  expect(await read(`/api/admin/users/${south.people.nurse.id}`)).toBe(404)
  expect(await read(`/api/admin/tenants/${south.id}`)).toBe(404)
  expect(await read(`/api/admin/departments/${south.departmentId}`)).toBe(404)
})
