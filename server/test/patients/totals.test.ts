/** Totals of patient lists are accurate at once for each user on every node, although the nodes rarely count. */
import { beforeAll, expect, test } from 'vitest'
import { openService, type Service } from '../support/service.ts'
import { openPatientScene, type PatientScene } from './scene.ts'

let nodes: Service[]
let scene: PatientScene
let ids: number[]

const PEOPLE = ['admin', 'nurse', 'doctor'] as const

beforeAll(async () => {
  const service = await openService()
  nodes = [service, await openService({ database: service.database })]
  scene = await openPatientScene(service)
  ids = []
  for (let made = 0; made < 5; made += 1) ids.push((await scene.patient()).id)
})

/**
 * Returns each user's total. Expects the same total on both nodes. The page is too small to derive the total from its
 * length.
 */
async function totals(filter: object = {}): Promise<number[]> {
  const told: number[][] = []
  for (const node of nodes) {
    const ofNode: number[] = []
    for (const who of PEOPLE) {
      const { token } = scene.clinic.people[who]
      const body = { limit: 1, ...filter }
      const answer = await node.call('POST', '/api/patients/search', { token, body })
      expect(answer.status).toBe(200)
      ofNode.push(answer.body.total)
    }
    told.push(ofNode)
  }
  expect(told[1]).toEqual(told[0])
  return told[0] as number[]
}

/** Returns the totals after a change. Each node had cached the totals from before the change. */
async function after(change: () => Promise<unknown>, filter: object = {}): Promise<number[]> {
  for (let turn = 0; turn < 2; turn += 1) await totals(filter)
  await change()
  return totals(filter)
}

test('the total of a patient list is cached as long as no patient changes', async () => {
  const [first = 0] = await totals()
  // Bypasses the triggers that record writes, so that the nodes do not count again.
  await nodes[0]?.database.sql(
    `begin; alter table patients disable trigger user; delete from patients where id = ${ids.pop()};
     alter table patients enable trigger user; commit`,
  )
  expect((await totals())[0]).toBe(first)
})

test('the totals of patient lists are updated immediately after each change', async () => {
  const admin = scene.as('admin')
  const at = (id?: number) => `/api/patients/${id}`
  const made: number[] = []
  // Each node now counts again, without the row that was removed above.
  const begun = await after(async () => made.push((await scene.patient()).id))
  expect(begun).toEqual([5, 5, 5])
  const changes = { department_id: scene.elsewhere }
  expect(await after(() => admin('PUT', at(ids[0]), changes))).toEqual([5, 4, 4])
  expect(await after(() => admin('DELETE', at(ids[1])))).toEqual([4, 3, 3])
  expect(await after(() => admin('POST', `${at(ids[1])}/restore`))).toEqual([5, 4, 4])
  const opened = { patient_id: ids[0], purpose: 'emergency', reason: 'Found unconscious' }
  const breakGlass = () => scene.as('doctor')('POST', '/api/patients/break-glass', opened)
  expect(await after(breakGlass)).toEqual([5, 4, 5])
  const attending_doctor_id = scene.clinic.people.doctor.id
  const treated = () => admin('PUT', at(ids[2]), { attending_doctor_id })
  await admin('PUT', at(ids[3]), { attending_doctor_id })
  expect(await after(treated, { attending_doctor_id })).toEqual([2, 2, 2])
  const unit = () => admin('DELETE', `/api/admin/departments/${scene.elsewhere}`)
  expect(await after(unit, { department_id: scene.elsewhere })).toEqual([0, 0, 0])
  expect(await totals()).toEqual([5, 4, 5])
})

test('the total of an encrypted search is updated after a change', async () => {
  const search = 'Namesake Twofold'
  for (let made = 0; made < 3; made += 1) await scene.patient({ full_name: search })
  const [first] = await totals({ search })
  expect(first).toBe(3)
  const renamed = () => scene.as('admin')('PUT', `/api/patients/${ids[2]}`, { full_name: search })
  expect((await after(renamed, { search }))[0]).toBe(4)
})

test('a search returns the exact total for any page size, even beyond the last page', async () => {
  const search = 'Same Name'
  for (let made = 0; made < 3; made += 1) await scene.patient({ full_name: search })
  const [ofAll] = await totals({ search })
  expect(ofAll).toBe(3)
  const admin = scene.as('admin')
  const found = async (query: object) => (await admin('POST', '/api/patients/search', query)).body
  for (const [index, shown] of [2, 1, 0].entries()) {
    const body = await found({ search, limit: 2, page: index + 1 })
    expect(body).toMatchObject({ total: 3 })
    expect(body.items).toHaveLength(shown)
  }
  const { next } = await found({ search, limit: 2 })
  expect(await found({ search, limit: 2, after: next })).toMatchObject({ total: 3, next: null })
})
