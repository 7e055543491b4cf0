/**
 * The four operations of the patient cache: their reports, the entries that they drop, who may call them, and the nodes
 * that they affect.
 */
import { beforeEach, describe, expect, test } from 'vitest'
import { superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { hears, hearsAll, holdsPatient, openPatientScene, type PatientScene } from './scene.ts'

let here: Service
let there: Service
let north: PatientScene
let south: PatientScene

const TTL_SECONDS = 100

beforeEach(async () => {
  const config = { PATIENT_CACHE_TTL_SECONDS: TTL_SECONDS }
  here = await openService({ config })
  there = await openService({ config, database: here.database })
  north = await openPatientScene(here)
  south = await openPatientScene(here)
  for (const node of NODES()) await hears(node, north.clinic.people.admin.token)
})

const NODES = () => [here, there]
const ask = (node: Service, method: string, path: string, token: string, body?: object) =>
  node.call(method, `/api/admin/cache/${path}`, { token, ...(body ? { body } : {}) })
const statsOf = async (node: Service, { clinic }: PatientScene) =>
  (await ask(node, 'GET', 'stats', clinic.people.admin.token)).body

/** Creates patients of the clinic and reads them on both nodes. */
async function held(scene: PatientScene, count: number): Promise<number[]> {
  const ids: number[] = []
  for (let i = 0; i < count; i++) ids.push((await scene.patient()).id)
  for (const [node, other] of [
    [here, there],
    [there, here],
  ] as const) {
    await hearsAll(node, other, scene.clinic)
    for (const id of ids) await holdsPatient(node, scene.clinic, id)
  }
  return ids
}

const holds = (node: Service, scene: PatientScene, entries: number) =>
  until('the node has heard of it', async () => {
    const stats = await statsOf(node, scene)
    return stats.entries === entries || undefined
  })

describe('the statistics of the patient cache', () => {
  test("cover the node and the caller's tenant, or all tenants for a superadmin", async () => {
    expect(await statsOf(here, south)).toMatchObject({ entries: 0, bytes: 0, hit_ratio: 0 })
    const [id] = await held(north, 2)
    await held(south, 1)
    const [before, there_before] = [await statsOf(here, north), await statsOf(there, north)]
    await north.as('doctor')('GET', `/api/patients/${id}`)
    await north.as('doctor')('GET', '/api/patients/999999')
    const own = await statsOf(here, north)
    const [hits, misses] = [before.hits + 1, before.misses + 1]
    expect(own).toEqual({
      ...{ node: expect.stringContaining(`/${process.pid}`), backend: 'memory' },
      ...{ entries: 2, max_entries: 100_000, max_bytes: 134_217_728, bytes: expect.any(Number) },
      ...{ hits, misses, hit_ratio: hits / (hits + misses), evictions: 0, expirations: 0 },
      ttl_seconds: TTL_SECONDS,
    })
    expect(own.bytes).toBeGreaterThan(2 * 300)
    expect(await statsOf(there, north)).toEqual(there_before)
    const root = await superadmin(here)
    const ofSouth = await statsOf(here, south)
    expect((await ask(here, 'GET', 'stats', root.token)).body).toMatchObject({
      entries: 3,
      bytes: own.bytes + ofSouth.bytes,
      hits: hits + ofSouth.hits,
      misses: misses + ofSouth.misses,
    })
  })
})

describe('invalidating cached patients', () => {
  test('drops one patient on all nodes, and no other patient', async () => {
    const [id] = await held(north, 2)
    const { token } = north.clinic.people.admin
    const answer = await ask(here, 'POST', 'invalidate', token, { patient_id: id })
    expect(answer).toMatchObject({ status: 200, body: { invalidated: 1 } })
    for (const node of NODES()) await holds(node, north, 1)
    expect((await ask(here, 'POST', 'invalidate', token, { patient_id: id })).body).toEqual({
      invalidated: 0,
    })
  })

  test("drops all patients of an admin's tenant, and none of another tenant", async () => {
    await held(north, 2)
    await held(south, 1)
    const { token } = north.clinic.people.admin
    const answer = await ask(here, 'POST', 'invalidate', token, { all: true })
    expect(answer.body).toEqual({ invalidated: 2 })
    for (const node of NODES()) {
      await holds(node, north, 0)
      await holds(node, south, 1)
    }
  })

  test('ignores a patient of another tenant, and reveals nothing about that patient', async () => {
    const [foreign] = await held(south, 1)
    const { token } = north.clinic.people.admin
    for (const patient_id of [foreign, 999_999])
      expect(await ask(here, 'POST', 'invalidate', token, { patient_id })).toMatchObject({
        status: 200,
        body: { invalidated: 0 },
      })
    for (const node of NODES()) await holds(node, south, 1)
  })

  test('drops patients of every tenant if the caller is a superadmin', async () => {
    await held(north, 1)
    const [id] = await held(south, 2)
    const { token } = await superadmin(here)
    expect((await ask(here, 'POST', 'invalidate', token, { patient_id: id })).body).toEqual({
      invalidated: 1,
    })
    expect((await ask(here, 'POST', 'invalidate', token, { all: true })).body).toEqual({
      invalidated: 2,
    })
    for (const node of NODES()) for (const scene of [north, south]) await holds(node, scene, 0)
  })

  test.each<[string, object]>([
    ['neither', {}],
    ['both', { patient_id: 1, all: true }],
    ['"all": false alone', { all: false }],
  ])('accepts a patient ID or "all": true, but not %s', async (_, body) => {
    const { token } = north.clinic.people.admin
    expect(await ask(here, 'POST', 'invalidate', token, body)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body'] }] },
    })
  })
})

test("the cache upkeep drops expired patients of the caller's tenant on all nodes", async () => {
  await held(north, 2)
  await held(south, 1)
  for (const node of NODES()) node.clock.advance(TTL_SECONDS * 1000)
  const { token } = north.clinic.people.admin
  expect(await ask(here, 'POST', 'cleanup', token)).toMatchObject({
    status: 200,
    body: { removed: 2 },
  })
  for (const node of NODES()) {
    await holds(node, north, 0)
    expect(await statsOf(node, north)).toMatchObject({ expirations: 2 })
    expect(await statsOf(node, south)).toMatchObject({ entries: 1 })
  }
  const root = await superadmin(here)
  expect((await ask(here, 'POST', 'cleanup', root.token)).body).toEqual({ removed: 1 })
  await holds(there, south, 0)
})

describe('warming up the patient cache', () => {
  const readsOf = async (scene: PatientScene) =>
    here.database.sql(`select 1 from journal where is_access and tenant_id = $1`, [scene.clinic.id])

  /** Repeats until this many patients are cached. A patient who changes during a load is not cached. */
  const warms = (node: Service, patient_ids: number[], warmed: number) =>
    until('the patients are held', async () => {
      const { token } = north.clinic.people.admin
      const { status, body } = await ask(node, 'POST', 'warmup', token, { patient_ids })
      expect(status).toBe(200)
      expect(body.warmed).toBeLessThanOrEqual(warmed)
      return body.warmed === warmed ? body : undefined
    })

  test('loads patients into the cache after a restart, counts each ID once and names unknown IDs', async () => {
    const [one, two, gone] = (await held(north, 3)) as [number, number, number]
    const [foreign] = (await held(south, 1)) as [number]
    await north.as('admin')('DELETE', `/api/patients/${gone}`)
    const before = await readsOf(north)
    const fresh = await openService({ database: here.database })
    const { token } = north.clinic.people.admin
    await hears(fresh, token)
    await hearsAll(fresh, here, north.clinic)
    const patient_ids = [two, one, foreign, one, gone, 999_999]
    expect(await warms(fresh, patient_ids, 2)).toEqual({
      ...{ requested: 5, warmed: 2 },
      ...{ missing: 3, missing_ids: [foreign, gone, 999_999] },
    })
    expect(await readsOf(north)).toHaveLength(before.length)
    expect(await statsOf(fresh, north)).toMatchObject({ entries: 2, hits: 0, misses: 0 })
    expect(await statsOf(fresh, south)).toMatchObject({ entries: 0 })
    for (const id of [one, two])
      expect((await fresh.call('GET', `/api/patients/${id}`, { token })).status).toBe(200)
    expect(await statsOf(fresh, north)).toMatchObject({ hits: 2, misses: 0, hit_ratio: 1 })
    await fresh.close()
  })

  test('does not count a patient that could not be cached; an undecryptable record still counts as existing', async () => {
    const [whole, spoilt] = [await north.patient(), await north.patient({ notes: 'Likes tea.' })]
    await here.database.sql(
      'update patients set sealed_notes = substr(sealed_notes, 1, 40) where id = $1',
      [spoilt.id],
    )
    expect(await warms(here, [spoilt.id, whole.id], 1)).toEqual({
      ...{ requested: 2, warmed: 1 },
      ...{ missing: 0, missing_ids: [] },
    })
    expect(await statsOf(here, north)).toMatchObject({ entries: 1 })
  })

  test.each([
    ['no', 0],
    ['two', 2],
  ])(
    'does not count patients for whom a node with room for %s patients has no room left',
    async (_, room) => {
      const ids = await held(north, 3)
      const config = { PATIENT_CACHE_MAX_ENTRIES: room }
      const small = await openService({ database: here.database, config })
      await hears(small, north.clinic.people.admin.token)
      expect(await warms(small, ids, room)).toMatchObject({
        requested: 3,
        warmed: room,
        missing: 0,
      })
      await small.close()
    },
  )

  test('accepts at most 1000 IDs, and is forbidden for a superadmin', async () => {
    const { token } = north.clinic.people.admin
    await held(north, 3)
    const patient_ids = Array.from({ length: 1_001 }, (_, i) => i + 1)
    expect((await ask(here, 'POST', 'warmup', token, { patient_ids })).status).toBe(422)
    // Existing IDs come last, so that the service must look up every ID, even if a query covers only some of the IDs.
    const thousand = { patient_ids: patient_ids.slice(0, 1_000).reverse() }
    const living = await here.database.sql<{ id: number }>(
      'select id::int from patients where tenant_id = $1',
      [north.clinic.id],
    )
    const known = new Set(living.map(({ id }) => id))
    expect((await ask(here, 'POST', 'warmup', token, thousand)).body).toEqual({
      requested: 1_000,
      warmed: known.size,
      missing: 1_000 - known.size,
      missing_ids: thousand.patient_ids.filter((id) => !known.has(id)),
    })
    const root = await superadmin(here)
    expect((await ask(here, 'POST', 'warmup', root.token, thousand)).status).toBe(403)
  })
})

test('deleting a tenant drops its patients from every cache', async () => {
  await held(north, 2)
  const root = await superadmin(here)
  await here.call('DELETE', `/api/admin/tenants/${north.clinic.id}`, { token: root.token })
  for (const node of NODES())
    await until('the tenant is forgotten', async () => {
      const { body } = await ask(node, 'GET', 'stats', root.token)
      return body.entries === 0 || undefined
    })
})
