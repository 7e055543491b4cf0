/** Break-glass access starts immediately, lasts four hours, and is journaled, reported to admins and limited. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { HOUR } from '../../src/lib/clock.ts'
import { signIn } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene

beforeAll(async () => {
  service = await openService({ background: ['jobs'] })
  scene = await openPatientScene(service)
})

const HIDDEN = {
  full_name: 'Quentin Quarantine',
  birth_date: '1961-01-06',
  phone: '+49 555 0001',
  address: 'Secluded Lane 9',
  notes: 'Unspeakable.',
}
const REASON = 'unconscious in the corridor'
const why = { purpose: 'emergency', reason: REASON }

const hidden = (fields: object = {}) =>
  scene.patient({ ...HIDDEN, department_id: scene.elsewhere, ...fields })
const at = (id: number) => `/api/patients/${id}`
const clinician = (role = 'doctor') =>
  scene.newcomer({ role, department_id: scene.clinic.departmentId })

describe('break-glass access to a patient', () => {
  test('gives access to the record, which the user can then read, list and change', async () => {
    const { id } = await hidden()
    const doctor = scene.as(await clinician())
    expect((await doctor('GET', at(id))).status).toBe(404)
    const shown = await doctor('POST', '/api/patients/break-glass', { patient_id: id, ...why })
    expect(shown).toMatchObject({ status: 200, body: { id, ...HIDDEN } })
    expect((await doctor('GET', at(id))).status).toBe(200)
    expect((await doctor('PUT', at(id), { phone: '2' })).status).toBe(200)
    const { body } = await doctor('POST', '/api/patients/search', { search: HIDDEN.full_name })
    expect(body).toMatchObject({ items: [{ id }], total: 1 })
    // Break-glass opens the patient to this user only.
    expect((await scene.as('doctor')('GET', at(id))).status).toBe(404)
  })

  test('finds the patient by an identifier in any spelling', async () => {
    const { id } = await hidden({ identifiers: [{ system: 'Insurer', value: 'Q-77' }] })
    const nurse = scene.as(await clinician('nurse'))
    const identifier = { system: 'INSURER', value: 'q 77' }
    const shown = await nurse('POST', '/api/patients/break-glass', { identifier, ...why })
    expect(shown).toMatchObject({ status: 200, body: { id } })
  })

  test('finds at most one patient by an identifier, because no system name can contain the separator', async () => {
    await hidden({ identifiers: [{ system: 'ward', value: 'X|9' }] })
    const doctor = scene.as(await clinician())
    for (const system of ['ward|X', 'ward\uff5cX']) {
      const body = { ...why, identifier: { system, value: '9' }, reason: 'too short' }
      const answer = await doctor('POST', '/api/patients/break-glass', body)
      expect(answer.status).toBe(422)
      expect(answer.body.detail).toMatchObject([
        { loc: ['body', 'identifier', 'system'], type: 'string_pattern_mismatch' },
        { loc: ['body', 'reason'] },
      ])
    }
    const identifier = { system: 'Ward', value: 'x|9' }
    const shown = await doctor('POST', '/api/patients/break-glass', { identifier, ...why })
    expect(shown.status).toBe(200)
  })

  test('expires after four hours', async () => {
    const own = await openService({ database: service.database })
    const { id } = await hidden()
    const { token } = await clinician()
    const get = () => own.call('GET', at(id), { token })
    const body = { patient_id: id, ...why }
    await own.call('POST', '/api/patients/break-glass', { token, body })
    own.clock.stop()
    // Access tokens expire earlier than the grant, so the session is refreshed.
    const grants = () =>
      own.database.sql(
        'update patient_grants set granted_at = granted_at - $1::interval, expires_at = expires_at - $1::interval where patient_id = $2',
        ['239 minutes', id],
      )
    await grants()
    expect((await get()).status).toBe(200)
    await grants()
    expect((await get()).status).toBe(404)
  })

  test.each([
    ['blocked', (id: number) => ['POST', `/api/admin/users/${id}/block`, undefined] as const],
    [
      'given another role',
      (id: number) => ['PUT', `/api/admin/users/${id}/role`, { role: 'nurse' }] as const,
    ],
  ])('ends for a user who is %s, even if that is undone', async (_what, act) => {
    const { id } = await hidden()
    const email = `${crypto.randomUUID()}@new.test`
    const user = await scene.newcomer({ email, department_id: scene.clinic.departmentId })
    await scene.as(user)('POST', '/api/patients/break-glass', { patient_id: id, ...why })
    const admin = scene.as('admin')
    const [method, path, body] = act(user.id)
    await admin(method, path, body)
    await admin('POST', `/api/admin/users/${user.id}/unblock`)
    await admin('PUT', `/api/admin/users/${user.id}/role`, { role: 'doctor' })
    const { subdomain } = scene.clinic
    const again = await signIn(service, { email, password: 'correct-Horse-9', subdomain })
    expect((await scene.as({ token: again.access_token })('GET', at(id))).status).toBe(404)
  })

  test('gets 404 for an unknown patient, and 422 for both or neither of patient_id and identifier', async () => {
    const doctor = scene.as(await clinician())
    const ask = async (body: object) =>
      (await doctor('POST', '/api/patients/break-glass', { ...why, ...body })).status
    const identifier = { system: 'no', value: 'body' }
    expect(await ask({ patient_id: 999_999 })).toBe(404)
    expect(await ask({ identifier })).toBe(404)
    expect(await ask({ patient_id: 1, identifier })).toBe(422)
    expect(await ask({})).toBe(422)
    expect(await ask({ patient_id: 1, reason: 'too short' })).toBe(422)
    expect(await ask({ patient_id: 1, purpose: 'curiosity' })).toBe(422)
  })

  test('is limited to ten uses an hour, even for sixteen concurrent requests', async () => {
    const { id } = await hidden()
    const node = await openService({ database: service.database })
    node.clock.stop()
    const { token } = await clinician()
    const body = { patient_id: id, ...why }
    const breakIt = () => node.call('POST', '/api/patients/break-glass', { token, body })
    const answers = await Promise.all(Array.from({ length: 16 }, breakIt))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(6)
    const wait = Number(refused[0]?.headers['retry-after'])
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(HOUR / 1000)
    await node.database.sql(
      'update patient_grants set granted_at = granted_at - $1::interval where patient_id = $2',
      ['1 hour', id],
    )
    expect((await breakIt()).status).toBe(200)
  })

  test('is throttled after ten unknown identifiers', async () => {
    const doctor = scene.as(await clinician())
    const statuses: number[] = []
    for (let n = 0; n < 11; n += 1) {
      const identifier = { system: 'guess', value: `${n}` }
      statuses.push(
        (await doctor('POST', '/api/patients/break-glass', { identifier, ...why })).status,
      )
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 404), 429])
  })
})

/** Joins the long lines that a mail splits (RFC 2045 §6.7). */
const wordsOf = (mail: string) => mail.replaceAll(/=\r?\n/g, '')

/** Returns the mails to the admins about the patient. */
const mailOf = (id: number) =>
  until('the mail is out', async () => {
    const folder = join(service.dataDir, 'outbox')
    const names = await readdir(folder).catch(() => [])
    const mails = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
    return mails.find((text) =>
      wordsOf(text).includes(`break-glass (emergency access) to open the record of patient ${id},`),
    )
  })

test('every use of break-glass access is journaled and mailed to the admins, without patient data', async () => {
  const { id } = await hidden()
  const user = await clinician()
  const answer = await scene.as(user)('POST', '/api/patients/break-glass', {
    patient_id: id,
    ...why,
  })
  expect(answer.status).toBe(200)
  const entries = await service.database.sql(
    `select resource_id, user_id, changes from journal
     where action = 'patient.break_glass' and resource_id = $1`,
    [String(id)],
  )
  expect(entries).toEqual([
    {
      resource_id: String(id),
      user_id: user.id,
      changes: { purpose: 'emergency', grant_id: expect.any(Number) },
    },
  ])
  const mail = await mailOf(id)
  expect(wordsOf(mail)).toContain(`of patient ${id}, and otherwise has no access to this patient.`)
  expect(mail).toContain(`To: ${scene.clinic.people.admin.email}`)
  const kept = await service.database.sql(
    `select to_jsonb(j)::text as row from journal j
     union all select to_jsonb(g)::text from patient_grants g
     union all select to_jsonb(p)::text from patients p
     union all select to_jsonb(t)::text from patient_tokens t`,
  )
  const told = JSON.stringify([mail, kept, service.logged])
  for (const secret of [...Object.values(HIDDEN), REASON]) expect(told).not.toContain(secret)
})

test('the mail about break-glass access does not claim that the user lacked access if they had access already', async () => {
  const { id } = await hidden({ department_id: scene.clinic.departmentId })
  const doctor = scene.as(await clinician())
  expect((await doctor('GET', at(id))).status).toBe(200)
  const body = { patient_id: id, ...why }
  expect((await doctor('POST', '/api/patients/break-glass', body)).status).toBe(200)
  expect(wordsOf(await mailOf(id))).toContain(
    'although the account has access to this patient anyway. Purpose: emergency.',
  )
})
