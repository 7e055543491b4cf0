/**
 * The operations of self-healing: who sees which fixes, invalid input, disabling, the initial catalogue, counts and
 * health.
 */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { ROOT } from './root.ts'
import { heal, healthOf, hurt, soreDatabase } from './scene.ts'
import { soreFix } from './sores.ts'

const PATH = '/api/admin/self-healing'

let service: Service
let root: Person
let north: Clinic
let south: Clinic

beforeAll(async () => {
  service = await openService()
  root = await superadmin(service)
  north = await makeClinic(service, root, 'north')
  south = await makeClinic(service, root, 'south')
})

const call = (method: string, path: string, { token }: Person = root, query = {}) =>
  service.call(method, PATH + path, { token, query })
const scan = () => service.app.features.selfHealing.scan()
const headOf = (items: any[]) => items.find(({ key }) => key === 'departments.head')
const fixFor = async (person = root) => headOf((await call('GET', '/fixes', person)).body.items)
const stateOf = () => service.database.sql('select * from self_healing_fixes order by id')
/** Returns the journal entries about the catalogue. */
const entries = () =>
  service.database.sql(
    `select action, user_id, tenant_id, resource_id, changes from journal
     where action in ('self_healing.deleted', 'self_healing.seeded') order by id`,
  )

/** Makes a nurse the head of the clinic's department, which is a fault. */
const behead = ({ departmentId, people }: Clinic) =>
  service.database.sql('update departments set head_doctor_id = $1 where id = $2', [
    people.nurse.id,
    departmentId,
  ])

describe('the list of self-healing fixes', () => {
  beforeAll(async () => {
    await behead(north)
    await scan()
  })

  test('shows a superadmin every tenant, and all details of a fix', async () => {
    const { body } = await call('GET', '/fixes')
    const total = service.app.fixes.length
    expect(body).toMatchObject({ total, page: 1, limit: 100, pages: 1, next: null })
    expect(body.items).toHaveLength(total)
    expect(headOf(body.items)).toMatchObject({
      status: 'proposed',
      occurrences: 1,
      evidence: [
        {
          tenant_id: north.id,
          subject_name: 'Surgery',
          people: { head_doctor_id: 'nurse of north' },
        },
      ],
      applied_by_name: null,
    })
  })

  test('shows an admin their own findings, without details about users and repairs', async () => {
    await service.database.sql(
      `update self_healing_fixes set reason = 'department of somebody', unknown = 'the platform',
         applied_at = now(), applied_by = 1, result = $1`,
      [{ repaired: 1, already_gone: 0, failed: 0, remaining: 0, duration_ms: 1 }],
    )
    expect(await fixFor(north.people.admin)).toMatchObject({
      status: 'proposed',
      occurrences: 1,
      evidence: [{ tenant_id: north.id, subject: `department ${north.departmentId}` }],
      last_detected_at: expect.any(String),
      reason: null,
      unknown: null,
      applied_at: null,
      applied_by: null,
      result: null,
    })
  })

  test('does not show an admin that another tenant has a fault', async () => {
    const { body } = await call('GET', '/fixes', south.people.admin)
    expect(body.total).toBe(service.app.fixes.length)
    const never = { reason: null, unknown: null, applied_at: null, applied_by: null, result: null }
    for (const item of body.items)
      expect(item).toMatchObject({
        status: 'idle',
        occurrences: 0,
        evidence: [],
        last_detected_at: null,
        ...never,
      })
    expect((await call('GET', '/stats', south.people.admin)).body).toMatchObject({
      by_status: { idle: body.total, proposed: 0, applied: 0, failed: 0 },
      occurrences: 0,
      success_rate: null,
      last_scan: null,
    })
  })

  test('shows an admin only the number of their own findings', async () => {
    expect((await call('GET', '/stats', north.people.admin)).body).toMatchObject({
      by_status: { proposed: 1 },
      occurrences: 1,
    })
  })
})

describe('confirming a fix', () => {
  test('gets 404 if the fix is unknown to this release, and no list contains the fix', async () => {
    const [later] = await service.database.sql<{ id: number }>(
      `insert into self_healing_fixes (key, title, description, plan, severity, automatic, status)
       values ('later.fault', '', '', '', 'low', false, 'proposed') returning id`,
    )
    expect((await call('POST', `/confirm/${later?.id}`)).status).toBe(404)
    const { items } = (await call('GET', '/fixes')).body
    expect(items.map(({ key }: { key: string }) => key)).not.toContain('later.fault')
  })

  test('gets 409 if the fix is idle or already applied', async () => {
    await behead(north)
    await scan()
    const { id } = await fixFor()
    expect((await call('POST', `/confirm/${id}`)).status).toBe(200)
    expect(await call('POST', `/confirm/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'fix_not_proposed' },
    })
    await call('POST', '/seed-fixes', root, { overwrite: true })
    expect((await fixFor()).status).toBe('idle')
    expect((await call('POST', `/confirm/${id}`)).status).toBe(409)
  })
})

describe('the catalogue of fixes', () => {
  beforeEach(() => call('POST', '/seed-fixes', root, { overwrite: true }))

  test('exists from the first start on, and is not changed by later starts', async () => {
    const before = await stateOf()
    const again = await openService({ database: service.database })
    await again.close()
    expect(await stateOf()).toEqual(before)
  })

  test('contains no removed fix until it is created again, and its fault is not checked in between', async () => {
    const { id } = await fixFor()
    const told = (await entries()).length
    expect((await call('DELETE', `/fixes/${id}`)).status).toBe(204)
    expect((await call('DELETE', `/fixes/${id}`)).status).toBe(404)
    expect((await call('POST', `/confirm/${id}`)).status).toBe(404)
    await behead(north)
    const again = await openService({ database: service.database })
    await again.close()
    await scan()
    expect(await fixFor()).toBeUndefined()
    const skipped = service.app.fixes.length - 1
    const seeded = { created: 1, updated: 0, skipped }
    expect((await call('POST', '/seed-fixes')).body).toEqual(seeded)
    expect(await fixFor()).toMatchObject({ id, status: 'idle', occurrences: 0 })
    await scan()
    expect(await fixFor()).toMatchObject({ status: 'proposed', occurrences: 1 })
    const about = { user_id: root.id, tenant_id: root.tenant_id }
    expect((await entries()).slice(told)).toEqual([
      {
        action: 'self_healing.deleted',
        ...about,
        resource_id: String(id),
        changes: { key: 'departments.head' },
      },
      {
        action: 'self_healing.seeded',
        ...about,
        resource_id: null,
        changes: { created: 1, updated: 0, overwrite: false },
      },
    ])
  })

  test('keeps the changes of an operator unless told to overwrite them, and always keeps findings', async () => {
    await behead(north)
    await scan()
    await service.database.sql(
      "update self_healing_fixes set title = 'Mine' where key = 'departments.head'",
    )
    const all = service.app.fixes.length
    const told = (await entries()).length
    const kept = { created: 0, updated: 0, skipped: all }
    expect((await call('POST', '/seed-fixes')).body).toEqual(kept)
    expect((await call('POST', '/seed-fixes', root, { overwrite: false })).body).toEqual(kept)
    expect(await entries()).toHaveLength(told)
    expect((await fixFor()).title).toBe('Mine')
    const { body } = await call('POST', '/seed-fixes', root, { overwrite: true })
    expect(body).toEqual({ created: 0, updated: 1, skipped: all - 1 })
    expect(await fixFor()).toMatchObject({
      title: expect.stringContaining('head who is not eligible'),
      status: 'idle',
      occurrences: 1,
    })
    const again = await call('POST', '/seed-fixes', root, { overwrite: true })
    expect(again.body).toEqual({ created: 0, updated: 0, skipped: all })
  })
})

test('the service counts successful repairs of a fix, and stores the time of the last check', async () => {
  const { database } = await soreDatabase()
  const health = { holds: true }
  const fix = soreFix({ automatic: true })
  const failing = soreFix({
    key: 'tests.failing',
    severity: 'critical',
    automatic: true,
    repair: () => Promise.reject(new Error('no')),
    detect: async () => ({
      findings: health.holds
        ? []
        : [{ tenant_id: null, subject: 'it', measured: {}, expected: {} }],
      looked_at: 10,
    }),
  })
  const node = await heal(database, [fix, failing])
  const { stats } = node.healing.service
  expect(await stats(ROOT)).toMatchObject({ success_rate: null, last_scan: null })
  await hurt(database, ['a'])
  await node.scan()
  expect(await stats(ROOT)).toMatchObject({ success_rate: 1 })
  expect(healthOf(node)).toBe('ok')
  health.holds = false
  await node.scan()
  expect(await stats(ROOT)).toEqual({
    total: 2,
    by_status: { idle: 0, proposed: 0, applied: 1, failed: 1 },
    by_severity: { low: 0, medium: 0, high: 1, critical: 1 },
    occurrences: 1,
    success_rate: 0.5,
    last_scan: {
      at: expect.any(String),
      duration_ms: expect.any(Number),
      looked_at: 2,
      unknown: 0,
    },
  })
  expect(healthOf(node)).toBe('degraded')
  const metrics = await node.metrics()
  expect(metrics).toContain(
    'wardkeep_self_healing_findings{fix="tests.failing",severity="critical"} 1',
  )
  expect(metrics).toMatch(/wardkeep_self_healing_scan_timestamp_seconds \d/)
  expect(metrics).toMatch(/wardkeep_self_healing_scan_seconds \d/)
  // Another node learns about the change through its upkeep.
  const other = await heal(database, [fix, failing])
  await other.healing.upkeep?.[0]?.run()
  expect(healthOf(other)).toBe('degraded')
  health.holds = true
  await node.scan()
  expect(healthOf(node)).toBe('ok')
})

test('the service refuses to start if two fixes have the same key', async () => {
  await expect(heal(service.database, [soreFix(), soreFix()])).rejects.toThrow(
    'the fix tests.sores is registered twice',
  )
})
