/** Finds stopped rotations, and resumes them after confirmation. */
import { expect, test } from 'vitest'
import { openPatientScene } from '../patients/scene.ts'
import { fixIn, scanAndConfirm } from '../support/self-healing-fixes.ts'
import { openService, type Service } from '../support/service.ts'
import { openRotations } from './scene.ts'

/** Opens a service with encrypted records. `found` returns the findings of the fix. */
async function scene(role: 'all' | 'api') {
  const service = await openService({ role })
  const { patient } = await openPatientScene(service)
  for (const full_name of ['Paula One', 'Paula Two']) await patient({ full_name })
  const stopped = fixIn(service, 'encryption.stopped')
  return { service, stopped, found: stopped.findings, rotations: await openRotations(service) }
}

const retired = async ({ database }: Service) =>
  (await database.sql('select id from data_keys where retired_at is not null')).length

test('a failed rotation reports the reason, and continues once the failed record can be decrypted', async () => {
  const { service, stopped, found, rotations } = await scene('all')
  const { sql } = service.database
  const damage = (by: number) =>
    sql(
      `update patients set sealed_full_name = set_byte(sealed_full_name, 40,
        get_byte(sealed_full_name, 40) # $1) where id = (select min(id) from patients)`,
      [by],
    )
  expect(await found()).toEqual([])
  await damage(1)
  const { rotation_id } = (await rotations.begin()).body
  await rotations.until('failed')
  const [finding, ...others] = await found()
  expect(others).toEqual([])
  expect(finding).toMatchObject({
    tenant_id: null,
    subject: `rotation ${rotation_id}`,
    measured: { status: 'failed', records_total: 2, records_done: 1, records_failed: 1 },
  })
  await expect(stopped.repair(finding as never)).rejects.toThrow(
    '1 records could not be re-encrypted',
  )
  expect(await stopped.findings()).toHaveLength(1)
  await damage(1)
  expect(await stopped.repair(finding as never)).toBe('repaired')
  expect(await rotations.status()).toMatchObject({ rotation_id, status: 'completed' })
  expect([await found(), await retired(service)]).toEqual([[], 0])
  expect(await stopped.repair(finding as never)).toBe('already gone')
})

test('an interrupted rotation is reported only after a while, and the process that confirms the fix continues it', async () => {
  const { service, found, rotations } = await scene('api')
  await rotations.begin()
  expect(await found()).toEqual([])
  await service.database.sql(
    "update encryption_rotations set progressed_at = now() - interval '1 hour'",
  )
  const [finding] = await scanAndConfirm(service, 'encryption.stopped')
  expect(finding?.measured).toMatchObject({ status: 'running', records_done: 0 })
  expect((await rotations.status()).status).toBe('completed')
  expect([await found(), await retired(service)]).toEqual([[], 0])
})

test('retired keys without a rotation, as in a restored copy, are removed by the next rotation', async () => {
  const { service, found, rotations } = await scene('api')
  await rotations.begin()
  // Backups do not contain rotations, so a restored copy has none.
  await service.database.sql('delete from encryption_rotations')
  expect(await found()).toEqual([])
  expect(await retired(service)).toBeGreaterThan(0)
  await openService({ database: service.database, role: 'worker' })
  expect((await rotations.begin()).status).toBe(200)
  await rotations.until('completed')
  expect(await retired(service)).toBe(0)
})

test('a rotation completes and is reported even if the clock during the previous rotation was ahead', async () => {
  const { service, found, rotations } = await scene('all')
  await rotations.begin()
  await rotations.until('completed')
  await service.database.sql(
    `update encryption_rotations set started_at = now() + interval '1 hour'`,
  )
  const { rotation_id } = (await rotations.begin()).body
  expect(await rotations.until('completed')).toMatchObject({ rotation_id })
  expect(await retired(service)).toBe(0)
  expect(await found()).toEqual([])
  const again = await rotations.begin()
  expect(again.status).toBe(200)
})
