/** A PUT keeps omitted fields and clears optional fields that are null. It writes nothing if no field changes. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../../support/clinics.ts'
import { openService, type Service } from '../../support/service.ts'

let service: Service
let root: Person
let clinic: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  clinic = await makeClinic(service, root, 'puts')
})

const put = (path: string, body: unknown) => service.call('PUT', path, { token: root.token, body })
const entries = async () =>
  (await service.database.sql<{ count: number }>('select count(*) from journal'))[0]?.count

describe('a field omitted in an update', () => {
  test('keeps its value in a department', async () => {
    const path = `/api/admin/departments/${clinic.departmentId}`
    const head_doctor_id = clinic.people.doctor.id
    expect(await put(path, { head_doctor_id })).toMatchObject({
      status: 200,
      body: { name: 'Surgery', head_doctor_id },
    })
    expect(await put(path, { name: 'Theatre' })).toMatchObject({
      status: 200,
      body: { name: 'Theatre', head_doctor_id },
    })
  })

  test('keeps its value in a user', async () => {
    const path = `/api/admin/users/${clinic.people.nurse.id}`
    await put(path, { can_see_all_patients: true })
    expect(await put(path, { full_name: 'Another Name' })).toMatchObject({
      status: 200,
      body: {
        full_name: 'Another Name',
        can_see_all_patients: true,
        department_id: clinic.departmentId,
        role: 'nurse',
      },
    })
  })

  test('keeps its value in a tenant', async () => {
    const path = `/api/admin/tenants/${clinic.id}`
    await put(path, { settings: { colour: 'green' } })
    expect(await put(path, { name: 'Another Clinic' })).toMatchObject({
      status: 200,
      body: { name: 'Another Clinic', settings: { colour: 'green' }, is_active: true },
    })
  })

  test('keeps its value in preferences', async () => {
    await put('/api/preferences', { theme: 'dark' })
    await put('/api/preferences', { settings: { rows: 5 } })
    expect(await put('/api/preferences/theme', { theme: 'light' })).toMatchObject({
      status: 200,
      body: { theme: 'light', settings: { rows: 5 } },
    })
  })
})

describe('null for a field in an update', () => {
  test('clears the field if it is optional', async () => {
    const department = `/api/admin/departments/${clinic.departmentId}`
    await put(department, { head_doctor_id: clinic.people.doctor.id })
    expect(await put(department, { head_doctor_id: null })).toMatchObject({
      status: 200,
      body: { head_doctor_id: null },
    })
    expect(
      await put(`/api/admin/users/${clinic.people.doctor.id}`, { department_id: null }),
    ).toMatchObject({ status: 200, body: { department_id: null } })
  })

  test.each([
    ['/api/admin/departments/{department}', ['name']],
    ['/api/admin/tenants/{tenant}', ['name', 'settings', 'is_active']],
    ['/api/admin/users/{user}', ['full_name', 'can_see_all_patients']],
    ['/api/admin/users/{user}/role', ['role']],
    ['/api/admin/users/{user}/password', ['password']],
    ['/api/preferences', ['theme', 'settings']],
    ['/api/preferences/theme', ['theme']],
  ])('is refused if the field is required: %s', async (template, fields) => {
    const path = template
      .replace('{department}', String(clinic.departmentId))
      .replace('{tenant}', String(clinic.id))
      .replace('{user}', String(clinic.people.nurse.id))
    for (const field of fields) {
      const answer = await put(path, { [field]: null })
      expect([field, answer.status]).toEqual([field, 422])
      for (const fault of answer.body.detail) expect(fault.loc).toEqual(['body', field])
    }
  })
})

describe('an update without any field', () => {
  test('is accepted, changes nothing and adds no journal entry', async () => {
    const before = await entries()
    for (const path of [
      `/api/admin/departments/${clinic.departmentId}`,
      `/api/admin/tenants/${clinic.id}`,
      `/api/admin/users/${clinic.people.nurse.id}`,
      '/api/preferences',
    ])
      expect([path, (await put(path, {})).status]).toEqual([path, 200])
    expect(await entries()).toBe(before)
  })
})
