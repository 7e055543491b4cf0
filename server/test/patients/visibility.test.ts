/**
 * The patients that a caller can see in single records, lists, totals and duplicates. Every node gives the same result.
 */
import { beforeAll, describe, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { type Call, openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene
/** The test patients by their department. */
let patients: Record<'here' | 'elsewhere' | 'nowhere', number>
const seers: Record<string, Call> = {}

const NAMED = { full_name: 'Same Name', birth_date: '1970-07-07' }
const CLINICAL = { allergies: ['Latex'], notes: 'Anxious.' }

beforeAll(async () => {
  service = await openService()
  scene = await openPatientScene(service)
  const made = async (department_id: number) =>
    (await scene.patient({ ...NAMED, ...CLINICAL, department_id })).id
  patients = {
    here: await made(scene.clinic.departmentId),
    elsewhere: await made(scene.elsewhere),
    nowhere: await made(scene.clinic.departmentId),
  }
  // A new patient without a department gets the creator's department. An update to null clears the department.
  await scene.as('admin')('PUT', `/api/patients/${patients.nowhere}`, { department_id: null })
  for (const role of ['admin', 'doctor', 'nurse', 'receptionist', 'auditor'] as const)
    seers[role] = scene.as(role)
  const as = async (fields: object) => scene.as(await scene.newcomer(fields))
  seers['doctor without a department'] = await as({ department_id: null })
  seers['doctor who sees all patients'] = await as({
    department_id: null,
    can_see_all_patients: true,
  })
  seers['auditor who sees all patients'] = await as({ role: 'auditor', can_see_all_patients: true })
  seers['nurse of another department'] = await as({ role: 'nurse', department_id: scene.elsewhere })
})

const EVERYONE = ['here', 'elsewhere', 'nowhere'] as const
const SEEN: Record<string, readonly (typeof EVERYONE)[number][]> = {
  admin: EVERYONE,
  'doctor who sees all patients': EVERYONE,
  'auditor who sees all patients': EVERYONE,
  doctor: ['here'],
  nurse: ['here'],
  receptionist: ['here'],
  auditor: ['here'],
  'nurse of another department': ['elsewhere'],
  'doctor without a department': [],
}

describe.each(Object.entries(SEEN))('a caller: %s', (who, places) => {
  const call: Call = (...args) => (seers[who] as Call)(...args)
  const seen = () => places.map((place) => patients[place]).sort((a, b) => a - b)

  test('can read the patients of their role and department, and no others', async () => {
    for (const place of EVERYONE) {
      const { status } = await call('GET', `/api/patients/${patients[place]}`)
      expect([place, status]).toEqual([place, places.includes(place) ? 200 : 404])
    }
  })

  test('finds these patients in every list and total, and no others', async () => {
    const queries = [
      {},
      { search: 'name same' },
      { birth_date: NAMED.birth_date },
      { sort_by: 'updated_at' },
    ]
    for (const query of queries) {
      const { body } = await call('POST', '/api/patients/search', query)
      const ids = body.items
        .map(({ id }: { id: number }) => id)
        .sort((a: number, b: number) => a - b)
      expect([query, ids, body.total]).toEqual([query, seen(), places.length])
    }
    const { body } = await call('POST', '/api/patients/search', { department_id: scene.elsewhere })
    expect(body.total).toBe(places.includes('elsewhere') ? 1 : 0)
  })

  test('can change these patients and no others', async () => {
    if (who.toLowerCase().includes('auditor')) return
    for (const place of EVERYONE) {
      const { status } = await call('PUT', `/api/patients/${patients[place]}`, {
        phone: `1${who.length}`,
      })
      expect([place, status]).toEqual([place, places.includes(place) ? 200 : 404])
    }
  })
})

test('a duplicate identifier is reported only to users who can see the other patient', async () => {
  const made = async (who: string) => {
    const body = { ...NAMED, full_name: 'NAME, same', department_id: null }
    const answer = await (seers[who] as Call)('POST', '/api/patients', body)
    await scene.as('admin')('DELETE', `/api/patients/${answer.body.id}`)
    return answer.body.possible_duplicates
  }
  const { here, elsewhere, nowhere } = patients
  expect(await made('admin')).toEqual([here, elsewhere, nowhere])
  expect(await made('doctor')).toEqual([here])
  expect(await made('nurse of another department')).toEqual([elsewhere])
  expect(await made('doctor without a department')).toEqual([])
  const other = await scene.patient({ ...NAMED, birth_date: '1970-07-08' })
  expect(other.possible_duplicates).toEqual([])
  await scene.as('admin')('DELETE', `/api/patients/${other.id}`)
})

describe.each(['receptionist', 'auditor'] as const)('a record read by the role %s', (role) => {
  test('lacks the clinical fields, and says that they were left out', async () => {
    const shown = [
      (await scene.as(role)('GET', `/api/patients/${patients.here}`)).body,
      (await scene.as(role)('GET', '/api/patients')).body.items[0],
    ]
    for (const record of shown) {
      expect(record).toMatchObject({ full_name: NAMED.full_name, redacted: ['allergies', 'notes'] })
      expect(Object.keys(record)).not.toEqual(expect.arrayContaining(['allergies']))
      expect(JSON.stringify(record)).not.toMatch(/Latex|Anxious/)
    }
  })
})

test("a receptionist's edit keeps the clinical fields unchanged", async () => {
  const path = `/api/patients/${patients.here}`
  const call = scene.as('receptionist')
  for (const body of [{ notes: 'x' }, { notes: null }, { allergies: [], phone: '1' }])
    expect(await call('PUT', path, body)).toMatchObject({
      status: 403,
      body: { code: 'clinical_fields' },
    })
  const created = { full_name: 'New', notes: 'x' }
  expect((await call('POST', '/api/patients', created)).body.code).toBe('clinical_fields')
  expect(await call('PUT', path, { address: 'New Street 1' })).toMatchObject({
    status: 200,
    body: { address: 'New Street 1', redacted: ['allergies', 'notes'] },
  })
  expect((await scene.as('doctor')('GET', path)).body).toMatchObject(CLINICAL)
  const made = await call('POST', '/api/patients', { full_name: 'New' })
  expect(made).toMatchObject({ status: 201, body: { redacted: ['allergies', 'notes'] } })
  expect((await scene.as('doctor')('GET', `/api/patients/${made.body.id}`)).body).toMatchObject({
    allergies: [],
    notes: null,
  })
})

test("a moved user sees the other department's patients within a second, on another node too", async () => {
  const { database } = service
  const node = await openService({ database })
  const mover = await scene.newcomer({ department_id: scene.clinic.departmentId })
  const at = (one: Service, id: number) =>
    one.call('GET', `/api/patients/${id}`, { token: mover.token })
  for (const one of [service, node]) expect((await at(one, patients.here)).status).toBe(200)
  const path = `/api/admin/users/${mover.id}`
  await scene.as('admin')('PUT', path, { department_id: scene.elsewhere })
  for (const one of [service, node]) {
    await until('the move is heard of', async () =>
      (await at(one, patients.here)).status === 404 ? true : undefined,
    )
    expect((await at(one, patients.elsewhere)).status).toBe(200)
  }
})

test('only users who see all patients see the patients of a deleted department', async () => {
  const admin = scene.as('admin')
  const { body: department } = await admin('POST', '/api/admin/departments', { name: 'Closing' })
  const { id } = await scene.patient({ department_id: department.id })
  const nurse = scene.as(await scene.newcomer({ role: 'nurse', department_id: department.id }))
  expect((await nurse('GET', `/api/patients/${id}`)).status).toBe(200)
  await admin('DELETE', `/api/admin/departments/${department.id}`)
  expect((await nurse('GET', `/api/patients/${id}`)).status).toBe(404)
  expect((await admin('GET', `/api/patients/${id}`)).body.department_id).toBeNull()
})
