/** Shutdown does not wait for a rotation. The next process to start completes it. */
import { expect, test } from 'vitest'
import { insertPatients } from '../../src/features/patients/index.ts'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { openPatientScene } from '../patients/scene.ts'
import { unheard } from '../sessions/scopes.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { until } from '../support/until.ts'
import { nobody, openRotations } from './scene.ts'

/** Each patient has a token. A batch deletes 300 tokens. */
const PATIENTS = 700

test('a rotation stops on shutdown while it deletes old search tokens', async () => {
  const api = await openService()
  const { database } = api
  const { clinic } = await openPatientScene(api)
  const rotations = await openRotations(api)
  const ring = await openKeyRing(api.app.db, openSealer(ROOT_KEY), unheard)
  const patients = Array.from({ length: PATIENTS }, (_, index) => nobody(`Paula P${index}`))
  await api.app.db.inTenant(clinic.id, (tx) => insertPatients(tx, ring, clinic.id, patients))
  const worker = await openService({ database, role: 'worker' })
  await database.sql(`
    create function slowly() returns trigger language plpgsql as 'begin perform pg_sleep(2); return null; end';
    create trigger slowly after delete on patient_tokens for each statement execute function slowly()`)
  await rotations.begin()
  await until('some are deleted', async () => {
    const [row] = await database.sql(`select from pg_stat_activity where wait_event = 'PgSleep'
      and datname = current_database()`)
    return row
  })
  await worker.close()
  const left =
    await database.sql(`select from patient_tokens t join data_keys k on k.id = t.data_key_id
    where k.retired_at is not null`)
  expect(left.length).toBeGreaterThan(0)
  expect((await rotations.status()).status).toBe('running')

  await database.sql('drop function slowly cascade')
  await openService({ database, role: 'worker' })
  expect(await rotations.until('completed')).toMatchObject({ records_failed: 0 })
})
