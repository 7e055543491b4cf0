/** Rotations that got stuck and keys that none ends: found, told of and mended. */
import { expect, test } from 'vitest'
import { openPatientScene } from '../patients/scene.ts'
import { fixIn, scanAndConfirm } from '../support/fixes.ts'
import { openService, type Service } from '../support/service.ts'
import { openRotations } from './scene.ts'

/** A service with sealed records, and what is found of it. */
async function scene(role: 'all' | 'api') {
  const service = await openService({ role })
  const { patient } = await openPatientScene(service)
  for (const full_name of ['Paula One', 'Paula Two']) await patient({ full_name })
  const stopped = fixIn(service, 'encryption.stopped')
  const leftBehind = fixIn(service, 'encryption.left_behind')
  const found = async () => [...(await stopped.findings()), ...(await leftBehind.findings())]
  return { service, stopped, leftBehind, found, rotations: await openRotations(service) }
}

const retired = async ({ database }: Service) =>
  (await database.sql('select id from data_keys where retired_at is not null')).length

test('a rotation that failed goes on once its record opens, and says why while it does not', async () => {
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
  await expect(stopped.repair(finding as never)).rejects.toThrow('1 records cannot be sealed anew')
  expect(await stopped.findings()).toHaveLength(1)
  await damage(1)
  expect(await stopped.repair(finding as never)).toBe('repaired')
  expect(await rotations.status()).toMatchObject({ rotation_id, status: 'completed' })
  expect([await found(), await retired(service)]).toEqual([[], 0])
  expect(await stopped.repair(finding as never)).toBe('already gone')
})

test('one that nobody works at is no fault at first; then it is sealed by whoever confirms', async () => {
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

test('retired keys without a rotation, as in a restored copy, are swept and destroyed', async () => {
  const { service, leftBehind, found, rotations } = await scene('api')
  await rotations.begin()
  // What no backup holds, so that its copy comes up without.
  await service.database.sql('delete from encryption_rotations')
  const [finding, ...others] = await found()
  expect(others).toEqual([])
  expect(finding).toMatchObject({
    tenant_id: null,
    measured: { records: 2, tables: 'patients' },
    expected: { retired_keys: 0 },
  })
  expect(await scanAndConfirm(service, 'encryption.left_behind')).toHaveLength(1)
  expect((await rotations.status()).status).toBe('completed')
  expect([await found(), await retired(service)]).toEqual([[], 0])
  expect(await leftBehind.repair(finding as never)).toBe('already gone')
})

test('a rotation ends though the clock was ahead at the one before, and is the one that is told of', async () => {
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
