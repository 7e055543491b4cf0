/** A tenant has two data keys during a rotation. Every list contains each patient exactly once. */
import { beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let service: Service
let scene: PatientScene
let patient: number
let keys: number[]

const IDENTIFIERS = [{ system: 'insurer', value: 'K-1' }]

const search = async (text: string) => {
  const { body } = await scene.as('doctor')('POST', '/api/patients/search', { search: text })
  return body.items.map(({ id }: { id: number }) => id)
}

/** Returns how many search tokens the patient has under each data key. */
const tokens = async () => {
  const rows = await service.database.sql<{ data_key_id: number; count: number }>(
    'select data_key_id, count(*)::int as count from patient_tokens where patient_id = $1 group by 1',
    [patient],
  )
  return Object.fromEntries(rows.map(({ data_key_id, count }) => [data_key_id, count]))
}

beforeAll(async () => {
  service = await openService()
  scene = await openPatientScene(service)
  const fields = { full_name: 'Kay Keys', identifiers: IDENTIFIERS, phone: '77' }
  patient = (await scene.patient(fields)).id
  // The next write creates another key. The existing rows still use the first key.
  await service.app.db.acrossTenants(async (tx) => {
    await tx.db
      .updateTable('data_keys')
      .set({ retired_at: new Date().toISOString() })
      .where('tenant_id', '=', scene.clinic.id)
      .execute()
    tx.invalidate('keys')
  })
  await scene.patient({ full_name: 'New Key' })
  const rows = await service.database.sql<{ id: number }>(
    'select id from data_keys where tenant_id = $1 order by id',
    [scene.clinic.id],
  )
  keys = rows.map(({ id }) => id)
})

test('during a rotation, a patient encrypted with the old key can be read and found, and identifiers stay unique', async () => {
  expect(keys).toHaveLength(2)
  const read = await scene.as('doctor')('GET', `/api/patients/${patient}`)
  expect(read).toMatchObject({ status: 200, body: { full_name: 'Kay Keys' } })
  expect(await search('keys kay')).toEqual([patient])
  expect(await search('insurer|k1')).toEqual([patient])
  const body = { full_name: 'Other', identifiers: [{ system: 'INSURER', value: 'k 1' }] }
  const taken = await scene.as('doctor')('POST', '/api/patients', body)
  expect(taken).toMatchObject({ status: 409, body: { code: 'identifier_taken' } })
  expect(await tokens()).toEqual({ [keys[0] as number]: 4 })
})

test('during a rotation, a changed record is encrypted with the new key, and is found until the old key is destroyed', async () => {
  const path = `/api/patients/${patient}`
  expect((await scene.as('doctor')('PUT', path, { notes: 'x' })).status).toBe(200)
  const [row] = await service.database.sql('select data_key_id from patients where id = $1', [
    patient,
  ])
  expect(row).toEqual({ data_key_id: keys[1] })
  expect(await tokens()).toEqual({ [keys[0] as number]: 4, [keys[1] as number]: 4 })
  await service.database.sql('delete from patient_tokens where data_key_id = $1', [keys[0]])
  for (const text of ['kay keys', 'k1', '77']) expect(await search(text)).toEqual([patient])
  expect((await scene.as('doctor')('GET', path)).body).toMatchObject({
    identifiers: IDENTIFIERS,
    notes: 'x',
  })
})
