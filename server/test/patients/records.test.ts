/** A patient's record: created, read, changed, deleted and restored. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene

beforeAll(async () => {
  service = await openService()
  scene = await openPatientScene(service)
})

const FULL = {
  full_name: 'José Müller-Lüdenscheidt',
  birth_date: '1931-04-05',
  sex: 'male',
  identifiers: [{ system: 'insurer', value: 'A 123.456' }],
  phone: '+49 30 1234',
  email: 'jose@north.example',
  address: 'Hauptstraße 1\n12345 Nordstadt',
  allergies: ['Penicillin'],
  notes: 'Likes tea.\nNo sugar.',
}

const at = (id: number, rest = '') => `/api/patients/${id}${rest}`

describe('a patient', () => {
  test('has the fields of the request, and null in all other fields', async () => {
    const made = await scene.as('doctor')('POST', '/api/patients', FULL)
    expect(made).toMatchObject({
      status: 201,
      body: {
        ...FULL,
        tenant_id: scene.clinic.id,
        department_id: scene.clinic.departmentId,
        attending_doctor_id: null,
        version: 1,
        possible_duplicates: [],
      },
    })
    const { possible_duplicates: _, ...record } = made.body
    expect((await scene.as('nurse')('GET', at(made.body.id))).body).toEqual(record)
    const bare = await scene.patient({ full_name: ' Ann ' })
    expect(bare).toMatchObject({
      full_name: 'Ann',
      birth_date: null,
      sex: null,
      identifiers: [],
      phone: null,
      email: null,
      address: null,
      allergies: [],
      notes: null,
    })
  })

  test('changes only in the fields of the request, where null clears a field', async () => {
    const { id } = await scene.patient({ ...FULL, identifiers: [] })
    const changed = await scene.as('doctor')('PUT', at(id), { phone: null, notes: 'New.' })
    expect(changed).toMatchObject({ status: 200, body: { phone: null, notes: 'New.', version: 2 } })
    expect((await scene.as('doctor')('GET', at(id))).body).toEqual(changed.body)
    expect(changed.body).toMatchObject({ full_name: FULL.full_name, allergies: FULL.allergies })
    for (const body of [{ full_name: null }, { identifiers: null }, { allergies: null }])
      expect((await scene.as('doctor')('PUT', at(id), body)).status).toBe(422)
  })

  test('keeps its version number if nothing changes', async () => {
    const { id } = await scene.patient({ phone: '123' })
    const again = await scene.as('doctor')('PUT', at(id), { phone: '123', allergies: [] })
    expect(again).toMatchObject({ status: 200, body: { version: 1 } })
  })

  test('is changed by only one of two concurrent changes to the same version', async () => {
    const { id, version } = await scene.patient()
    const change = (notes: string) => scene.as('doctor')('PUT', at(id), { notes, version })
    const answers = await Promise.all([change('one'), change('two'), change('three')])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({ code: 'conflict' })
  })

  test('can be moved to a department that the user cannot see', async () => {
    const sent = await scene.as('nurse')('POST', '/api/patients', {
      full_name: 'Away',
      department_id: scene.elsewhere,
    })
    expect(sent).toMatchObject({ status: 201, body: { department_id: scene.elsewhere } })
    expect((await scene.as('nurse')('GET', at(sent.body.id))).status).toBe(404)
    const { id } = await scene.patient()
    const moved = await scene.as('nurse')('PUT', at(id), { department_id: scene.elsewhere })
    expect(moved.status).toBe(200)
    expect((await scene.as('nurse')('GET', at(id))).status).toBe(404)
  })

  test('accepts only an active doctor and a department of the same tenant', async () => {
    const other = await openPatientScene(service)
    const { doctor, nurse } = scene.clinic.people
    for (const [field, value] of [
      ['attending_doctor_id', nurse.id],
      ['attending_doctor_id', other.clinic.people.doctor.id],
      ['attending_doctor_id', 999_999],
      ['department_id', other.clinic.departmentId],
    ] as const) {
      const body = { full_name: 'X', [field]: value }
      expect(await scene.as('doctor')('POST', '/api/patients', body)).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', field], type: 'value_error' }] },
      })
    }
    expect(await scene.patient({ attending_doctor_id: doctor.id })).toMatchObject({
      attending_doctor_id: doctor.id,
    })
  })

  test('disappears for all users immediately when deleted, until an admin restores the record', async () => {
    const { id } = await scene.patient({ full_name: 'Gone Girl' })
    const admin = scene.as('admin')
    expect((await admin('DELETE', at(id))).status).toBe(204)
    expect((await admin('GET', at(id))).status).toBe(404)
    expect((await admin('PUT', at(id), { notes: 'x' })).status).toBe(404)
    expect((await admin('DELETE', at(id))).status).toBe(404)
    const search = (body: object) => admin('POST', '/api/patients/search', body)
    expect((await search({ search: 'girl gone' })).body).toMatchObject({ items: [], total: 0 })
    const deleted = await search({ search: 'girl gone', deleted: true })
    expect(deleted.body).toMatchObject({ items: [{ id }], total: 1 })
    expect(await admin('POST', at(id, '/restore'))).toMatchObject({ status: 200, body: { id } })
    expect((await admin('POST', at(id, '/restore'))).status).toBe(404)
    expect((await search({ search: 'girl gone' })).body.total).toBe(1)
    const asDoctor = await scene.as('doctor')('GET', '/api/patients?deleted=true')
    expect(asDoctor.status).toBe(403)
  })

  test('gets 500 if an encrypted field was changed, cut or moved, and the log names the field', async () => {
    const { id } = await scene.patient(FULL_BUT_IDENTIFIERS)
    const whole = await scene.patient()
    await service.database.sql(
      'update patients set sealed_notes = set_byte(sealed_notes, 40, get_byte(sealed_notes, 40) # 1) where id = $1',
      [id],
    )
    service.logged.length = 0
    expect(await scene.as('doctor')('GET', at(id))).toMatchObject({
      status: 500,
      body: { code: 'internal' },
    })
    expect(service.logged.slice(0, 1)).toMatchObject([
      [
        'error',
        { err: { message: `patient ${id}: encrypted fields cannot be decrypted (notes)` } },
        'request failed',
      ],
    ])
    const { items } = (await scene.as('doctor')('GET', '/api/patients?limit=100')).body
    const { created_at, updated_at } = items.find((one: any) => one.id === id)
    expect(items.find((one: any) => one.id === id)).toEqual({
      id,
      tenant_id: scene.clinic.id,
      department_id: scene.clinic.departmentId,
      attending_doctor_id: null,
      version: 1,
      created_at,
      updated_at,
      deleted_at: null,
      unreadable: true,
    })
    expect(items.find((one: any) => one.id === whole.id)).toMatchObject({
      full_name: 'Paula Patient',
    })
  })
})

const { identifiers: _, ...FULL_BUT_IDENTIFIERS } = FULL

describe('a rejected request gets its errors reported together:', () => {
  // The clock stands still until the end of the file, so that the tests and the service have the same date.
  beforeAll(() => service.clock.stop())

  const tomorrow = () =>
    new Date(service.clock.now() + 14 * 3_600_000 + 86_400_000).toISOString().slice(0, 10)

  test.each([
    [{ birth_date: '2026-02-30' }, [['birth_date']]],
    [{ birth_date: '1849-12-31' }, [['birth_date']]],
    [{ full_name: ' ' }, [['full_name']]],
    [{ full_name: 'A\u202eB' }, [['full_name']]],
    [{ full_name: 'A\0B' }, [['full_name']]],
    [{ notes: '\ud800' }, [['notes']]],
    [{ phone: '1'.repeat(41) }, [['phone']]],
    [{ allergies: Array.from({ length: 101 }, (_, n) => `a${n}`) }, [['allergies']]],
    [
      { identifiers: Array.from({ length: 21 }, (_, n) => ({ system: 's', value: `${n}` })) },
      [['identifiers']],
    ],
    [
      {
        identifiers: [
          { system: 'Insurer', value: 'A-1' },
          { system: 'insurer', value: 'a 1' },
        ],
        birth_date: '1849-01-01',
        sex: 'none',
        email: 'nobody',
        department_id: 999_999,
      },
      [['sex'], ['email'], ['birth_date'], ['identifiers', '1'], ['department_id']],
    ],
    [
      {
        identifiers: [
          { system: 'ward', value: 'X|9' },
          { system: 'ward|X', value: '9' },
          // Full-width characters spell the same identifier.
          { system: 'ward\uff5cX', value: '9' },
        ],
        birth_date: '1849-01-01',
        department_id: 999_999,
      },
      [
        ['identifiers', '1', 'system'],
        ['identifiers', '2', 'system'],
        ['birth_date'],
        ['department_id'],
      ],
    ],
    [
      { identifiers: [{ system: '-', value: '. ' }] },
      [
        ['identifiers', '0', 'system'],
        ['identifiers', '0', 'value'],
      ],
    ],
  ])('%j', async (fields, locs) => {
    const { id } = await scene.patient()
    for (const [method, path] of [
      ['POST', '/api/patients'],
      ['PUT', at(id)],
    ] as const) {
      const answer = await scene.as('doctor')(method, path, { full_name: 'X', ...fields })
      expect(answer.status).toBe(422)
      const told = answer.body.detail.map(({ loc }: { loc: string[] }) => loc.slice(1))
      expect(told.sort()).toEqual(locs.sort())
    }
  })

  test('a birth date that is later than today in every time zone', async () => {
    const born = (birth_date: string) =>
      scene.as('doctor')('POST', '/api/patients', { full_name: 'X', birth_date })
    expect((await born(tomorrow())).status).toBe(422)
    const today = new Date(service.clock.now() + 14 * 3_600_000).toISOString().slice(0, 10)
    expect((await born(today)).status).toBe(201)
    expect((await born('1850-01-01')).status).toBe(201)
  })
})
