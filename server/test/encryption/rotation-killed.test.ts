/**
 * Kills the service with SIGKILL at each step of a rotation. The next start completes the rotation, and every record
 * stays readable.
 */
import { expect, inject, test, vi } from 'vitest'
import { insertPatients } from '../../src/features/patients/index.ts'
import { openKeyRing, openSealer } from '../../src/platform/crypto/index.ts'
import { openPatientScene } from '../patients/scene.ts'
import { unheard } from '../sessions/scopes.ts'
import { migratedDatabase } from '../support/database.ts'
import { holdUp, type Step } from '../support/paused-writes.ts'
import { PLAIN, startService, tokenOf } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { openService, ROOT_KEY } from '../support/service.ts'
import { nobody, openRotations } from './scene.ts'

// Processes on a busy machine take their time to start.
vi.setConfig({ testTimeout: inject('chaos') === 'full' ? 900_000 : 240_000 })

const IS_FULL = inject('chaos') === 'full'
const ROUNDS = IS_FULL ? 3 : 1
/** More patients than one batch contains. */
const PATIENTS = 110

interface Kill extends Step {
  name: string
  /** True for steps that only `npm run chaos` tests. */
  isRare?: boolean
}

const KILLS: Kill[] = [
  {
    name: 'before the keys have committed',
    table: 'encryption_rotations',
    moment: 'before',
    isRare: true,
  },
  { name: 'with their commit under way', table: 'encryption_rotations', moment: 'behind' },
  {
    name: 'in the first batch',
    table: 'patients',
    event: 'update',
    moment: 'before',
    isRare: true,
  },
  { name: 'with its commit under way', table: 'patients', event: 'update', moment: 'behind' },
  { name: 'before the old keys are gone', table: 'data_keys', event: 'delete', moment: 'before' },
  {
    name: 'with the last commit under way',
    table: 'encryption_rotations',
    event: 'update',
    moment: 'behind',
    when: "new.status = 'completed'",
  },
]
const STEPS = KILLS.filter(({ isRare }) => IS_FULL || !isRare)

test('a rotation completes after a kill at each step', async () => {
  const database = await migratedDatabase()
  // Another node, which runs no rotation. The test does not kill it.
  const api = await openService({ database })
  const scene = await openPatientScene(api)
  const rotations = await openRotations(api)
  const names = Array.from({ length: PATIENTS }, (_, index) => `Paula P${index}`)
  const ring = await openKeyRing(api.app.db, openSealer(ROOT_KEY), unheard)
  await api.app.db.inTenant(scene.clinic.id, (tx) =>
    insertPatients(tx, ring, scene.clinic.id, names.map(nobody)),
  )
  const env = {
    ...PLAIN,
    DATABASE_URL: database.url,
    DATA_DIR: await scratch(),
    ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
    LOG_LEVEL: 'error',
  }
  const keys = () =>
    database.sql<{ id: string; is_retired: boolean }>(
      'select id::text as id, retired_at is not null as is_retired from data_keys order by id',
    )

  let service = await startService(env)
  const token = await tokenOf(service)
  for (let round = 0; round < ROUNDS; round += 1)
    for (const { name, ...step } of STEPS) {
      const before = await keys()
      const held = await holdUp(database, step)
      const path = '/api/admin/encryption/rotate'
      const asked = service.call('POST', path, { token, body: {} }).catch(() => 'no answer')
      await held.met()
      service.signal('SIGKILL')
      await service.ended
      await held.release()
      await asked

      service = await startService(env)
      if (name === 'before the keys have committed') {
        expect(await keys(), name).toEqual(before)
        await service.call('POST', path, { token, body: {} })
      }
      await rotations.until('completed')
      const after = await keys()
      for (const { id, is_retired } of after) {
        expect(is_retired, name).toBe(false)
        expect(before, name).not.toContainEqual({ id, is_retired })
      }
      const found = [1, 2].map((page) =>
        scene.as('admin')('GET', `/api/patients?limit=100&page=${page}`),
      )
      const items = (await Promise.all(found)).flatMap(({ body }) => body.items)
      expect(
        items.map(({ full_name }) => full_name),
        name,
      ).toEqual(names)
    }
})
