/** The patient cache on two nodes: its responses, its access checks, and its invalidation. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Clinic } from '../support/clinics.ts'
import { proxyTo } from '../support/database-proxy.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { hears, hearsAll, holdsPatient, openPatientScene, type PatientScene } from './scene.ts'

let here: Service
let there: Service
let scene: PatientScene

beforeAll(async () => {
  here = await openService()
  there = await openService({ database: here.database })
  scene = await openPatientScene(here)
  for (const node of [here, there]) await hears(node, scene.clinic.people.admin.token)
})

type Who = keyof Clinic['people'] | { token: string }

const at = (id: number) => `/api/patients/${id}`
const read = (node: Service, who: Who, id: number) => {
  const { token } = typeof who === 'string' ? scene.clinic.people[who] : who
  return node.call('GET', at(id), { token })
}
const stats = async (node: Service) =>
  (await node.call('GET', '/api/admin/cache/stats', { token: scene.clinic.people.admin.token }))
    .body

/** Creates a patient whom both nodes have cached. */
async function heldPatient(fields: object = {}) {
  const made = await scene.patient({ notes: 'Likes tea.', ...fields })
  for (const [node, other] of [
    [here, there],
    [there, here],
  ] as const) {
    await hearsAll(node, other, scene.clinic)
    await holdsPatient(node, scene.clinic, made.id)
  }
  return made
}

/** Changes rows directly, so that no node is notified. */
const behindTheBack = (id: number) =>
  here.database.sql('update patients set version = 99 where id = $1', [id])

/** Waits until the node gives this response. */
const shows = (node: Service, who: Who, id: number, expected: object) =>
  until('the node has heard of it', async () => {
    const { status, body } = await read(node, who, id)
    const answer = { status, ...body }
    const isShown = Object.entries(expected).every(([key, value]) => answer[key] === value)
    return isShown || undefined
  })

test('a patient is cached after a read, and later reads use the cache', async () => {
  const { id } = await heldPatient()
  const before = await stats(here)
  await behindTheBack(id)
  expect((await read(here, 'admin', id)).body.version).toBe(1)
  expect(await stats(here)).toMatchObject({ hits: before.hits + 1, misses: before.misses })
})

describe('access to a cached patient', () => {
  test("is denied to a nurse of another department after a doctor's read, and not journaled", async () => {
    const { id } = await heldPatient()
    const nurse = await scene.newcomer({ role: 'nurse', department_id: scene.elsewhere })
    expect((await read(here, 'doctor', id)).status).toBe(200)
    expect((await read(here, nurse, id)).status).toBe(404)
    const entries = await here.database.sql(
      `select 1 from journal where action = 'patient.read' and user_id = $1`,
      [nurse.id],
    )
    expect(entries).toEqual([])
  })

  test('depends on the role: receptionists and auditors do not see clinical fields', async () => {
    const { id } = await heldPatient({ allergies: ['Latex'] })
    expect((await read(here, 'doctor', id)).body).toMatchObject({ allergies: ['Latex'] })
    for (const role of ['receptionist', 'auditor'] as const) {
      const { body } = await read(here, role, id)
      expect(body.redacted).toEqual(['allergies', 'notes'])
      expect(Object.keys(body)).not.toContain('notes')
    }
    expect((await read(here, 'nurse', id)).body.redacted).toBeUndefined()
  })

  test('through a break-glass grant shows the cached record, and the journal entry names the grant', async () => {
    const { id } = await heldPatient()
    const doctor = await scene.newcomer({ department_id: scene.elsewhere })
    const body = { patient_id: id, purpose: 'emergency', reason: 'Found unconscious' }
    const broken = await here.call('POST', '/api/patients/break-glass', { ...doctor, body })
    expect(broken.status).toBe(200)
    for (const node of [here, there]) expect((await read(node, doctor, id)).status).toBe(200)
    const entries = await here.database.sql(
      `select changes -> 'grant_id' as grant from journal where action = 'patient.read' and user_id = $1`,
      [doctor.id],
    )
    expect(entries).toEqual(Array(2).fill({ grant: expect.any(Number) }))
  })
})

describe('both nodes soon show, even if the patient is cached,', () => {
  test('a change, which the changing node shows immediately', async () => {
    const { id } = await heldPatient()
    await scene.as('doctor')('PUT', at(id), { full_name: 'Changed' })
    expect((await read(here, 'admin', id)).body.full_name).toBe('Changed')
    await shows(there, 'admin', id, { full_name: 'Changed' })
  })

  test('the move of a patient to another department', async () => {
    const { id } = await heldPatient()
    await scene.as('admin')('PUT', at(id), { department_id: scene.elsewhere })
    expect((await read(here, 'nurse', id)).status).toBe(404)
    await shows(there, 'nurse', id, { status: 404 })
  })

  test("the move of a user to the patient's department", async () => {
    const { id } = await heldPatient()
    const nurse = await scene.newcomer({ role: 'nurse', department_id: scene.elsewhere })
    expect((await read(there, nurse, id)).status).toBe(404)
    const department_id = scene.clinic.departmentId
    await scene.as('admin')('PUT', `/api/admin/users/${nurse.id}`, { department_id })
    expect((await read(here, nurse, id)).status).toBe(200)
    await shows(there, nurse, id, { status: 200 })
  })

  test.each<[string, object]>([
    ['the deletion of the patient', { status: 404 }],
    ['the deletion and restoration of the patient', { status: 200, version: 3 }],
  ])('%s', async (what, expected) => {
    const { id } = await heldPatient()
    await scene.as('admin')('DELETE', at(id))
    if (what !== 'the deletion of the patient') await scene.as('admin')('POST', `${at(id)}/restore`)
    expect((await read(here, 'admin', id)).status).toBe((expected as { status: number }).status)
    await shows(there, 'admin', id, expected)
  })

  test('the deletion of the department and of the doctor, without a change of the patient', async () => {
    const { body: department } = await scene.as('admin')('POST', '/api/admin/departments', {
      name: 'Short-lived',
    })
    const doctor = await scene.newcomer({})
    const fields = { department_id: department.id, attending_doctor_id: doctor.id }
    const { id } = await heldPatient(fields)
    await scene.as('admin')('DELETE', `/api/admin/departments/${department.id}`)
    await shows(there, 'admin', id, { department_id: null, attending_doctor_id: doctor.id })
    await scene.as('admin')('DELETE', `/api/admin/users/${doctor.id}`)
    await shows(there, 'admin', id, { attending_doctor_id: null })
    expect((await read(here, 'admin', id)).body).toMatchObject({
      department_id: null,
      attending_doctor_id: null,
    })
  })
})

test('a change that was rolled back is never cached', async () => {
  const identifiers = [{ system: 'insurer', value: crypto.randomUUID() }]
  await scene.patient({ identifiers })
  const { id } = await heldPatient()
  const change = { full_name: 'Never', identifiers }
  expect((await scene.as('admin')('PUT', at(id), change)).status).toBe(409)
  for (const node of [here, there])
    expect((await read(node, 'admin', id)).body).toMatchObject({ full_name: 'Paula Patient' })
})

test('a slow read is neither cached nor shared if the patient changes during the read', async () => {
  const proxy = await proxyTo(here.database)
  const database = { ...here.database, address: { url: proxy.url } }
  const far = await openService({ database })
  const { id } = await scene.patient()
  const doctor = await scene.newcomer({ department_id: scene.clinic.departmentId })
  await hears(far, scene.clinic.people.admin.token)
  await far.call('GET', '/api/users/me', doctor)
  const held = proxy.holdAnswerOf('sealed_full_name')
  const early = read(far, doctor, id)
  await held.answered
  await scene.as('admin')('PUT', at(id), { full_name: 'New' })
  // Notifications arrive in order, so the earlier notification has arrived as well.
  await scene.as('admin')('PUT', `/api/admin/users/${doctor.id}`, { full_name: 'Heard' })
  await until('the node has heard', async () => {
    const { body } = await far.call('GET', '/api/users/me', doctor)
    return body.full_name === 'Heard' || undefined
  })
  expect((await read(far, doctor, id)).body.full_name).toBe('New')
  held.release()
  expect((await early).body.full_name).toBe('Paula Patient')
  expect((await read(far, doctor, id)).body.full_name).toBe('New')
  await far.close()
})

describe('a patient who has been cached for long', () => {
  test('is read again after the maximum age', async () => {
    const { id } = await scene.patient()
    const config = { PATIENT_CACHE_TTL_SECONDS: 10 }
    const brief = await openService({ database: here.database, config })
    const versionAfter = async (ms: number) => {
      brief.clock.advance(ms)
      return (await read(brief, 'admin', id)).body.version
    }
    await hears(brief, scene.clinic.people.admin.token)
    await hearsAll(brief, here, scene.clinic)
    brief.clock.stop()
    await holdsPatient(brief, scene.clinic, id)
    await behindTheBack(id)
    expect([await versionAfter(9_999), await versionAfter(1)]).toEqual([1, 99])
    expect(await stats(brief)).toMatchObject({ expirations: 1, evictions: 0 })
    await brief.close()
  })

  test('is dropped within a second after the data key is destroyed', async () => {
    await heldPatient()
    await here.database.sql(`select pg_notify('wardkeep_changes', 'keys')`)
    for (const node of [here, there])
      await until('nothing is held', async () => (await stats(node)).entries === 0 || undefined)
  })
})

describe('the journal entry of reading a patient', () => {
  test('is written even if the read uses the cache', async () => {
    const { id } = await heldPatient()
    for (let i = 0; i < 3; i++) await read(here, 'doctor', id)
    const entries = await here.database.sql(
      `select 1 from journal where action = 'patient.read' and resource_id = $1 and user_id = $2`,
      [String(id), scene.clinic.people.doctor.id],
    )
    expect(entries).toHaveLength(3)
  })

  test('cannot be written without the database, so that a node then returns nothing from the cache', async () => {
    const proxy = await proxyTo(here.database)
    const far = await openService({
      database: { ...here.database, address: { url: proxy.url } },
    })
    await hears(far, scene.clinic.people.admin.token)
    const { id } = await scene.patient()
    const times = async () =>
      (
        await here.database.sql(
          `select 1 from journal where action = 'patient.read' and resource_id = $1`,
          [String(id)],
        )
      ).length
    expect((await read(far, 'admin', id)).status).toBe(200)
    await proxy.refuse()
    const answer = await read(far, 'admin', id)
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.body)).not.toContain('Paula')
    await proxy.open()
    expect(await times()).toBe(1)
    await far.close()
  })
})
