/**
 * Cached patients that differ from the database. Each node finds differences in its own cache, and any node can fix all
 * of them.
 */
import { beforeAll, expect, test } from 'vitest'
import type { Feature } from '../../src/platform/feature/feature.ts'
import { fixIn, scanAndConfirm } from '../support/self-healing-fixes.ts'
import { openService, type Service } from '../support/service.ts'
import { hears, hearsAll, holdsPatient, openPatientScene, type PatientScene } from './scene.ts'

let here: Service
let there: Service
let scene: PatientScene

beforeAll(async () => {
  here = await openService()
  there = await openService({ database: here.database })
  scene = await openPatientScene(here)
  for (const node of [here, there]) await hears(node, scene.clinic.people.admin.token)
})

/** Makes the node check its whole cache. */
async function look({ app }: Service) {
  const { upkeep = [] }: Feature = app.features.patients
  for (const { run } of upkeep) await run()
}

/** Checks twice, because a difference is reported only when two checks find it. */
async function compare(node: Service) {
  await look(node)
  await look(node)
}

const findings = () => fixIn(here, 'patients.cache').findings()

async function held(fields: object = {}) {
  const { id } = await scene.patient({ notes: 'Likes tea.', ...fields })
  for (const [node, other] of [
    [here, there],
    [there, here],
  ] as const) {
    await hearsAll(node, other, scene.clinic)
    await holdsPatient(node, scene.clinic, id)
  }
  return id as number
}

const shown = async (node: Service, id: number) =>
  (await node.call('GET', `/api/patients/${id}`, { token: scene.clinic.people.admin.token })).body

test('the check of the patient cache detects a stale patient in the cache of another node, and the fix drops that patient', async () => {
  const id = await held()
  await here.database.sql('update patients set version = 99 where id = $1', [id])
  await compare(there)
  const [finding, ...others] = await findings()
  expect(others).toEqual([])
  expect(finding).toMatchObject({
    tenant_id: scene.clinic.id,
    subject: `patient ${id}`,
    measured: { version: 1, differs: 'version', nodes: 1 },
    expected: { version: 99 },
  })
  expect(JSON.stringify(finding)).not.toContain('Paula')
  expect((await fixIn(here, 'patients.cache').look()).looked_at).toBeGreaterThan(0)

  await scanAndConfirm(here, 'patients.cache')
  await expect.poll(async () => (await shown(there, id)).version).toBe(99)
  expect((await shown(here, id)).version).toBe(99)
  for (const node of [here, there]) await compare(node)
  expect(await findings()).toEqual([])
  expect(await fixIn(here, 'patients.cache').repair(finding as never)).toBe('already gone')
})

test.each([
  ['another department', 'update patients set department_id = $2 where id = $1', 'department_id'],
  [
    'other contents of the same version',
    `update patients set sealed_notes = null where id = $1 and $2 > 0`,
    'notes',
  ],
  [
    'a truncated field',
    `update patients set sealed_notes = substr(sealed_notes, 1, 40) where id = $1 and $2 > 0`,
    'notes cannot be decrypted',
  ],
  ['a missing patient', 'delete from patients where id = $1 and $2 > 0', 'deleted'],
])(
  'the check of the patient cache names the difference between cache and database: %s',
  async (_, change, differs) => {
    const id = await held()
    await here.database.sql(change, [id, scene.elsewhere])
    await compare(here)
    const found = await findings()
    expect(found.map(({ subject, measured }) => [subject, measured.differs])).toEqual([
      [`patient ${id}`, differs],
    ])
    for (const finding of found) await fixIn(here, 'patients.cache').repair(finding)
    await compare(here)
    expect(await findings()).toEqual([])
  },
)

test('the check of the patient cache reports nothing for a consistent cache after changes, deletions and moves', async () => {
  const [changed, deleted, moved] = [await held(), await held(), await held()]
  await scene.as('admin')('PUT', `/api/patients/${changed}`, { notes: 'Likes coffee.' })
  await scene.as('admin')('DELETE', `/api/patients/${deleted}`)
  await scene.as('admin')('PUT', `/api/patients/${moved}`, { department_id: scene.elsewhere })
  await hearsAll(there, here, scene.clinic)
  for (const node of [here, there]) await compare(node)
  expect(await findings()).toEqual([])
})

test('the check of the patient cache reports nothing for a change that is notified between its two reads', async () => {
  const id = await held()
  await here.database.sql('update patients set version = 7 where id = $1', [id])
  await look(there)
  await here.call('POST', '/api/admin/cache/invalidate', {
    token: scene.clinic.people.admin.token,
    body: { patient_id: id },
  })
  await hearsAll(there, here, scene.clinic)
  await look(there)
  expect(await findings()).toEqual([])
})
