/** A row that cannot be re-encrypted does not prevent the re-encryption of other rows. */
import { expect, test } from 'vitest'
import { openPatientScene } from '../patients/scene.ts'
import { openService } from '../support/service.ts'
import { openRotations } from './scene.ts'

test('a row that cannot be updated keeps its key, is logged once per pass, and is re-encrypted later', async () => {
  const service = await openService({ background: ['encryption', 'jobs'] })
  const { sql } = service.database
  const scene = await openPatientScene(service)
  const rotations = await openRotations(service)
  const ids: number[] = []
  for (let made = 0; made < 9; made += 1)
    ids.push((await scene.patient({ full_name: `Paula P${made}` })).id)
  const refused = ids[5] as number
  await sql(
    `alter table patients add constraint patients__no_more check (id <> ${refused}) not valid`,
  )
  const retired = () =>
    sql(`select p.id from patients p join data_keys k on k.id = p.data_key_id
      where k.retired_at is not null`)
  const named = () =>
    service.logged.filter(([, fields]) => (fields as { table?: string }).table === 'patients')
  const line = [
    'error',
    { table: 'patients', row: refused },
    'record not re-encrypted: patients__no_more',
  ]

  const { rotation_id } = (await rotations.begin()).body
  const told = { rotation_id, records_total: 9, records_done: 8, records_failed: 1 }
  const failed = await rotations.until('failed')
  expect(failed).toMatchObject(told)
  expect(failed.reason).toBe('1 records could not be re-encrypted. The log lists them')
  expect(await retired()).toEqual([{ id: refused }])
  expect(named()).toEqual([line])
  const path = `/api/patients/${refused}`
  expect(await scene.as('doctor')('GET', path)).toMatchObject({ status: 200 })

  expect((await rotations.begin()).body).toMatchObject({ rotation_id, status: 'running' })
  expect(await rotations.until('failed')).toMatchObject(told)
  expect(named()).toEqual([line, line])

  await sql('alter table patients drop constraint patients__no_more')
  await rotations.begin()
  const done = { rotation_id, records_done: 9, records_failed: 0, reason: null }
  expect(await rotations.until('completed')).toMatchObject(done)
  expect(await retired()).toEqual([])
  for (const id of ids)
    expect((await scene.as('doctor')('GET', `/api/patients/${id}`)).status).toBe(200)
})
