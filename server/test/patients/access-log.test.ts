/** The accesses to a patient's record are complete, can be read, and are part of an export. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene

beforeAll(async () => {
  service = await openService()
  scene = await openPatientScene(service)
})

const at = (id: number, rest = '') => `/api/patients/${id}${rest}`

test('the access log of a patient lists who did what, when, from where and under which grant', async () => {
  const { id } = await scene.patient({ full_name: 'Much Seen', department_id: scene.elsewhere })
  const user = await scene.newcomer({ department_id: scene.clinic.departmentId })
  const doctor = scene.as(user)
  const reason = 'found in the stairwell'
  await doctor('POST', '/api/patients/break-glass', { patient_id: id, purpose: 'other', reason })
  await doctor('GET', at(id))
  await doctor('PUT', at(id), { phone: '1', notes: 'x' })
  await doctor('POST', '/api/patients/search', { search: 'seen much' })
  await doctor('GET', '/api/patients')
  const list = await scene.as('admin')('GET', at(id, '/accesses'))
  expect(list).toMatchObject({ status: 200, body: { total: 6, next: null } })
  const grant = {
    id: expect.any(Number),
    purpose: 'other',
    reason,
    granted_at: expect.any(String),
    expires_at: expect.any(String),
    ended_at: null,
  }
  expect(
    list.body.items.map(({ action, grant: under, fields }: any) => [action, under, fields]),
  ).toEqual([
    ['patient.listed', grant, undefined],
    ['patient.searched', grant, undefined],
    ['patient.updated', grant, ['phone', 'notes']],
    ['patient.read', grant, undefined],
    ['patient.break_glass', grant, undefined],
    ['patient.created', undefined, ['full_name', 'department_id']],
  ])
  expect(list.body.items[3]).toEqual({
    id: expect.any(Number),
    action: 'patient.read',
    user_id: user.id,
    user_email: expect.stringContaining('@new.test'),
    user_name: 'New',
    user_role: 'doctor',
    created_at: expect.stringMatching(/Z$/),
    ip: '127.0.0.1',
    user_agent: expect.any(String),
    request_id: expect.any(String),
    grant,
  })
})

test("each user's access log lists only the break-glass grants that were necessary, the latest per patient", async () => {
  const near = await scene.patient()
  const far = await scene.patient({ department_id: scene.elsewhere })
  const came = await scene.patient({ department_id: scene.elsewhere })
  const user = await scene.newcomer({ department_id: scene.clinic.departmentId })
  const doctor = scene.as(user)
  const why = { purpose: 'emergency', reason: 'found in the stairwell' }
  for (const { id } of [far, came, far])
    await doctor('POST', '/api/patients/break-glass', { patient_id: id, ...why })
  const grants = await service.database.sql<{ id: number }>(
    'select id::int from patient_grants where patient_id = $1 order by id',
    [far.id],
  )
  // The patient has moved into the user's own department, so this access needs no grant.
  await scene.as('admin')('PUT', at(came.id), { department_id: scene.clinic.departmentId })
  await doctor('GET', '/api/patients?limit=100')
  const [entry] = await service.database.sql<{ changes: any }>(
    `select changes from journal where action = 'patient.listed' and user_id = $1`,
    [user.id],
  )
  expect(entry?.changes.resource_ids).toEqual(expect.arrayContaining([near.id, far.id, came.id]))
  expect(entry?.changes.grants).toEqual({ [far.id]: grants.at(-1)?.id })
  const latest = async (id: number) =>
    (await scene.as('admin')('GET', at(id, '/accesses'))).body.items[0]
  expect(await latest(far.id)).toMatchObject({
    action: 'patient.listed',
    grant: { id: grants.at(-1)?.id, purpose: 'emergency' },
  })
  for (const { id } of [near, came]) {
    const access = await latest(id)
    expect(access).toMatchObject({ action: 'patient.listed', user_id: user.id })
    expect(access).not.toHaveProperty('grant')
  }
})

test('many accesses are split into pages, and each access is listed once', async () => {
  const { id } = await scene.patient()
  for (let n = 0; n < 4; n += 1) await scene.as('nurse')('GET', at(id))
  const seen: number[] = []
  let after: string | null = null
  do {
    const query = `limit=2${after ? `&after=${after}` : ''}`
    const { body } = await scene.as('admin')('GET', at(id, `/accesses?${query}`))
    seen.push(...body.items.map((one: { id: number }) => one.id))
    after = body.next
  } while (after)
  expect(seen).toHaveLength(5)
  expect(seen).toEqual([...new Set(seen)].sort((a, b) => b - a))
})

test('auditors who can see the patient can read the access log, and other roles cannot', async () => {
  const { id } = await scene.patient({ department_id: scene.elsewhere })
  expect((await scene.as('auditor')('GET', at(id, '/accesses'))).status).toBe(404)
  const all = scene.as(await scene.newcomer({ role: 'auditor', can_see_all_patients: true }))
  expect((await all('GET', at(id, '/accesses'))).status).toBe(200)
  expect((await scene.as('doctor')('GET', at(id, '/accesses'))).status).toBe(403)
  expect((await scene.as('auditor')('GET', at(id, '/export'))).status).toBe(403)
})

test('an export of a patient contains the record with all accesses, even if those exceed one page', async () => {
  const { id } = await scene.patient({ full_name: 'Ex Port', notes: 'All of it.' })
  await service.database.sql(
    `insert into journal (tenant_id, action, resource_type, resource_id, is_access)
     select $1, 'patient.read', 'patient', $2, true from generate_series(1, 230)`,
    [scene.clinic.id, String(id)],
  )
  const answer = await scene.as('admin')('GET', at(id, '/export'))
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': `attachment; filename="patient-${id}.json"`,
  })
  const { patient, accesses, exported_at } = answer.body
  expect(patient).toMatchObject({ id, full_name: 'Ex Port', notes: 'All of it.' })
  expect(exported_at).toMatch(/Z$/)
  const ids = accesses.map((one: { id: number }) => one.id)
  expect(ids).toHaveLength(232)
  expect(new Set(ids).size).toBe(232)
  expect(accesses.map((one: { action: string }) => one.action)).toContain('patient.exported')
})

describe('the journal entry of reading a patient', () => {
  const entriesOf = async (id: number) =>
    (
      await service.database.sql<{ action: string }>(
        `select action from journal where tenant_id = $1 and action like 'patient.%' and action <> 'patient.created'
           and (resource_id = $2 or changes -> 'resource_ids' @> to_jsonb($3::bigint)) order by id`,
        [scene.clinic.id, String(id), id],
      )
    ).map(({ action }) => action)

  test('is written before the response is sent, and not written for refused requests', async () => {
    const { id } = await scene.patient({ full_name: 'Watched' })
    const doctor = scene.as('doctor')
    const hidden = scene.as(await scene.newcomer({ department_id: scene.elsewhere }))
    await hidden('GET', at(id))
    await hidden('GET', '/api/patients')
    expect(await entriesOf(id)).toEqual([])
    await doctor('GET', at(id))
    expect(await entriesOf(id)).toEqual(['patient.read'])
    await doctor('PUT', at(id), { full_name: 'Watched' })
    expect(await entriesOf(id)).toEqual(['patient.read', 'patient.read'])
    await doctor('GET', '/api/patients?limit=100')
    await doctor('POST', '/api/patients/search', { search: 'watched' })
    expect(await entriesOf(id)).toEqual([
      'patient.read',
      'patient.read',
      'patient.listed',
      'patient.searched',
    ])
  })
})
