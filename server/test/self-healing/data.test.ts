/** Faults of patients' caches and of backups, over the API: found, told with what was measured, and mended. */
import { rm } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import type { Feature } from '../../src/platform/feature.ts'
import { fileOf, make } from '../backups/support.ts'
import {
  hears,
  hearsAll,
  holdsPatient,
  openPatientScene,
  type PatientScene,
} from '../patients/scene.ts'
import { type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'

let service: Service
let scene: PatientScene
let root: Person

beforeAll(async () => {
  service = await openService({ background: ['jobs'], config: { SELF_HEALING: 'auto' } })
  scene = await openPatientScene(service)
  root = await superadmin(service)
})

const scan = () => service.app.features.selfHealing.scan()

/** The fix as the person sees it. */
async function fixFor({ token }: Person, key: string) {
  const { body } = await service.call('GET', '/api/admin/self-healing/fixes', { token })
  return body.items.find((fix: { key: string }) => fix.key === key)
}

test('a file of a backup that is gone is proposed to its clinic, and failed once confirmed', async () => {
  const { admin } = scene.clinic.people
  const id = await make(service, admin)
  // Another one, so that the store is not empty.
  await make(service, root)
  await rm(fileOf(service, id))
  await scan()
  const seen = await fixFor(admin, 'backups.missing')
  expect(seen).toMatchObject({ status: 'proposed', occurrences: 1, repairable: true })
  expect(seen.evidence).toEqual([
    {
      tenant_id: scene.clinic.id,
      subject: `backup ${id}`,
      measured: { file: 'gone', type: 'tenant', made_at: expect.any(String) },
      expected: { file: 'there', size_bytes: expect.any(Number) },
      since: expect.any(String),
    },
  ])
  const confirmed = await service.call('POST', `/api/admin/self-healing/confirm/${seen.id}`, root)
  expect(confirmed).toMatchObject({
    status: 200,
    body: { status: 'applied', evidence: [], result: { repaired: 1, failed: 0, remaining: 0 } },
  })
  const list = await service.call('GET', '/api/admin/backup/list', admin)
  expect(list.body.items[0]).toMatchObject({ backup_id: id, status: 'failed' })
  await scan()
  expect(await fixFor(root, 'backups.missing')).toMatchObject({ status: 'applied', occurrences: 0 })
})

test('a patient whom another node holds wrongly is dropped there by a scan, by itself', async () => {
  const other = await openService({ database: service.database })
  const { token } = scene.clinic.people.admin
  for (const node of [service, other]) await hears(node, token)
  const { id } = await scene.patient()
  await hearsAll(other, service, scene.clinic)
  await holdsPatient(other, scene.clinic, id)
  await service.database.sql('update patients set version = 99 where id = $1', [id])
  const { upkeep = [] }: Feature = other.app.features.patients
  for (const { run } of [...upkeep, ...upkeep]) await run()
  await scan()
  expect(await fixFor(root, 'patients.cache')).toMatchObject({
    status: 'applied',
    applied_by: null,
    occurrences: 0,
    result: { repaired: 1, remaining: 0 },
  })
  const shown = async () => (await other.call('GET', `/api/patients/${id}`, { token })).body.version
  await expect.poll(shown).toBe(99)
  for (const { run } of [...upkeep, ...upkeep]) await run()
  await scan()
  expect((await fixFor(root, 'patients.cache')).occurrences).toBe(0)
})
