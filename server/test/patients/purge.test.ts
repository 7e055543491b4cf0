/**
 * The purge destroys deleted patients and their search tokens after the retention period. It keeps all other patients.
 */
import { expect, test } from 'vitest'
import { purgeDeleted } from '../../src/features/patients/upkeep/purge.jobs.ts'
import { DAY, HOUR } from '../../src/lib/clock.ts'
import { openService } from '../support/service.ts'
import { openPatientScene } from './scene.ts'

test('a deleted patient can be restored for the retention period, and is then destroyed', async () => {
  const service = await openService()
  const scene = await openPatientScene(service)
  const admin = scene.as('admin')
  const named = (n: number) => scene.patient({ full_name: `P ${n}`, phone: `${n}` })
  const [kept, back, gone] = [await named(1), await named(2), await named(3)]
  for (const { id } of [back, gone]) await admin('DELETE', `/api/patients/${id}`)
  const run = () =>
    purgeDeleted(
      { db: service.app.db, clock: service.clock, keepDays: 30 },
      new AbortController().signal,
    )
  const tokensOf = async (id: number) =>
    (await service.database.sql('select 1 from patient_tokens where patient_id = $1', [id])).length
  const { token } = scene.clinic.people.admin
  await run()
  const restored = await service.call('POST', `/api/patients/${back.id}/restore`, { token })
  expect(restored.status).toBe(200)
  service.clock.advance(30 * DAY + HOUR)
  await Promise.all([run(), run()])
  const left = await service.database.sql<{ id: number }>('select id from patients order by id')
  expect(left.map(({ id }) => id)).toEqual([kept.id, back.id])
  expect([await tokensOf(gone.id), await tokensOf(kept.id)]).toEqual([0, 2])
  const purged = await service.database.sql(
    "select resource_id, tenant_id, user_id from journal where action = 'patient.purged'",
  )
  expect(purged).toEqual([
    { resource_id: String(gone.id), tenant_id: scene.clinic.id, user_id: null },
  ])
})
