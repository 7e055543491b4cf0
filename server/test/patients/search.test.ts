/** Patient search by exact names, identifiers, phone numbers and addresses, in any spelling. */
import { beforeAll, describe, expect, test } from 'vitest'
import { type Answer, openService, type Service } from '../support/service.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene
let jose: number

beforeAll(async () => {
  service = await openService()
  scene = await openPatientScene(service)
  jose = (
    await scene.patient({
      full_name: 'MÜLLER-Lüdenscheidt, José',
      birth_date: '1931-04-05',
      identifiers: [
        { system: 'Insurer No. 1', value: 'A 123.456-7' },
        { system: 'ward', value: 'X|9' },
      ],
      phone: '+49 (30) 12-34',
      email: 'Jose.Mueller@North.Example',
    })
  ).id
  await scene.patient({ full_name: 'José Müller', birth_date: '1931-04-05' })
})

const found = async (body: object) => {
  const answer = await scene.as('doctor')('POST', '/api/patients/search', body)
  expect(answer.status).toBe(200)
  return answer.body.items.map(({ id }: { id: number }) => id)
}

describe('a patient search', () => {
  test.each([
    'MÜLLER-Lüdenscheidt, José',
    'jose muller ludenscheidt',
    'Lüdenscheidt José Müller',
    '  ＪＯＳＥ   mu\u0308ller–LUDENSCHEIDT ',
    'A 123.456-7',
    'a1234567',
    'insurer no 1|A-1234567',
    'x|9',
    'WARD|X|9',
    'ward｜x｜9',
    '+4930 1234',
    'JOSE.MUELLER@north.example',
  ])('finds exactly the intended patient: %s', async (search) => {
    expect(await found({ search })).toEqual([jose])
    const query = new URLSearchParams({ search })
    const listed = await scene.as('doctor')('GET', `/api/patients?${query}`)
    expect(listed.body).toMatchObject({ items: [{ id: jose }], total: 1 })
  })

  test.each([
    'Müller-Lüdenscheidt',
    'jose mueller ludenscheidt',
    'other|a1234567',
    'ward|x',
    'A12345',
    '--',
    '1931-04-05',
  ])('finds nobody by a part of a name or by another spelling: %s', async (search) =>
    expect(await found({ search })).toEqual([]),
  )

  test('also applies the other filters', async () => {
    const search = 'jose muller ludenscheidt'
    expect(await found({ search, birth_date: '1931-04-05' })).toEqual([jose])
    expect(await found({ search, birth_date: '1931-04-06' })).toEqual([])
    expect(await found({ birth_date: '1931-04-05' })).toHaveLength(2)
    expect(await found({ search, department_id: scene.elsewhere })).toEqual([])
  })

  test('finds a changed patient immediately', async () => {
    const { id } = await scene.patient({ full_name: 'Before Wedding', phone: '555' })
    await scene.as('doctor')('PUT', `/api/patients/${id}`, { full_name: 'After Wedding' })
    expect(await found({ search: 'before wedding' })).toEqual([])
    expect(await found({ search: 'wedding after' })).toEqual([id])
    expect(await found({ search: '555' })).toEqual([id])
    await scene.as('doctor')('PUT', `/api/patients/${id}`, { phone: null })
    expect(await found({ search: '555' })).toEqual([])
  })

  test('appears in no log line and no journal entry', async () => {
    service.logged.length = 0
    const search = 'Zanzibar Unheard'
    await found({ search })
    await scene.as('doctor')('GET', `/api/patients?${new URLSearchParams({ search })}`)
    const entries = await service.database.sql(
      "select to_jsonb(j)::text as entry from journal j where action = 'patient.searched'",
    )
    expect(entries.length).toBeGreaterThan(1)
    expect(JSON.stringify([service.logged, entries])).not.toMatch(/zanzibar|unheard/i)
  })
})

describe('an identifier of a patient', () => {
  const spellings = ['AB-1', 'ab 1', 'A.B.1', 'ａｂ１', 'aB–1', 'Ab1', 'a b 1', 'ÁB1']

  test('is accepted for only one living patient of a tenant, among sixteen concurrent requests in any spelling', async () => {
    const node = await openService({ database: service.database })
    const { admin, doctor } = scene.clinic.people
    const answers = await Promise.all(
      [...spellings, ...spellings].map((value, index) =>
        [service, node][index % 2]?.call('POST', '/api/patients', {
          // Uses two users, because a single user has to wait after ten refusals.
          token: index < 8 ? admin.token : doctor.token,
          body: { full_name: `Number ${index}`, identifiers: [{ system: 'Race', value }] },
        }),
      ),
    )
    const statuses = answers.map((answer) => answer?.status).sort()
    expect(statuses).toEqual([201, ...Array.from({ length: 15 }, () => 409)])
    const refused = answers.find((answer) => answer?.status === 409)
    expect(refused?.body).toMatchObject({ code: 'identifier_taken' })
    const listed = await scene.as('admin')('POST', '/api/patients/search', { search: 'race|ab1' })
    expect(listed.body.total).toBe(1)
  })

  test('can be used again in another system, and in another tenant', async () => {
    const other = await openPatientScene(service)
    const identifiers = [{ system: 'mine', value: '1' }]
    await scene.patient({ identifiers })
    await other.patient({ identifiers })
    await scene.patient({ identifiers: [{ system: 'yours', value: '1' }] })
  })

  test('becomes free when its patient is deleted, and the patient can then not be restored', async () => {
    const identifiers = [{ system: 'free', value: '1' }]
    const { id } = await scene.patient({ identifiers })
    const admin = scene.as('admin')
    await admin('DELETE', `/api/patients/${id}`)
    const { id: next } = await scene.patient({ identifiers: [{ system: 'FREE', value: '1.' }] })
    const restore = () => admin('POST', `/api/patients/${id}/restore`)
    expect(await restore()).toMatchObject({ status: 409, body: { code: 'identifier_taken' } })
    expect((await admin('GET', `/api/patients/${id}`)).status).toBe(404)
    await admin('PUT', `/api/patients/${next}`, { identifiers: [] })
    expect((await restore()).status).toBe(200)
    const taken = await admin('PUT', `/api/patients/${next}`, { identifiers })
    expect(taken).toMatchObject({ status: 409, body: { code: 'identifier_taken' } })
  })
})

describe('a list of patients', () => {
  test('is split into pages that contain each patient once, with GET and with POST', async () => {
    const own = await openPatientScene(service)
    const ids: number[] = []
    for (let n = 0; n < 7; n += 1) ids.push((await own.patient({ full_name: `P ${n}` })).id)
    const doctor = own.as('doctor')
    for (const query of [
      {},
      { sort_by: 'created_at' },
      { sort_by: 'updated_at', sort_order: 'desc' },
    ]) {
      const seen: number[] = []
      let after: string | null = null
      do {
        const asked: object = { ...query, limit: 2, ...(after ? { after } : {}) }
        const { body }: Answer = after
          ? await doctor('GET', `/api/patients?${new URLSearchParams(asked as never)}`)
          : await doctor('POST', '/api/patients/search', asked)
        expect(body.total).toBe(7)
        seen.push(...body.items.map(({ id }: { id: number }) => id))
        after = body.next
        // Another user writes while the pages are read.
        if (seen.length === 2) await own.patient({ department_id: own.elsewhere })
      } while (after)
      expect(seen.toSorted((a, b) => a - b)).toEqual(ids)
    }
  })

  test('rejects a page number together with a cursor, and sorting by encrypted fields', async () => {
    const doctor = scene.as('doctor')
    const { body } = await doctor('GET', '/api/patients?limit=1')
    const refused = await doctor('POST', '/api/patients/search', {
      limit: 1,
      page: 2,
      after: body.next,
    })
    expect(refused.body.detail).toMatchObject([{ loc: ['body', 'page'] }])
    for (const sort_by of ['full_name', 'birth_date', 'version'])
      expect((await doctor('GET', `/api/patients?sort_by=${sort_by}`)).status).toBe(422)
  })
})
