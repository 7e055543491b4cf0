/** The service verifies its logs: finds tampering in old entries, reports it once, and continues after a crash. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { SEGMENT_LEAVES, verifyLogs } from '../../src/features/audit/verification/verify-logs.ts'
import { openLockConnection, ownerClient } from '../../src/platform/db/index.ts'
import { mailsTo } from '../support/accounts.ts'
import { superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service, SUPERADMIN } from '../support/service.ts'
import { type LogScene, openLogScene } from './scene.ts'

let service: Service
let scene: LogScene
let token: string

beforeAll(async () => {
  service = await openService({ background: ['jobs'] })
})

const PATH = '/api/admin/audit/verify'
const ofLog = (who = token) => ({ token: who, query: { tenant_id: scene.clinic.id } })

async function newScene(entries: number): Promise<void> {
  scene = await openLogScene(service)
  await scene.grow(entries)
  token = (await superadmin(service)).token
}

/** Requests a verification of the log and waits for its end. Returns the state. */
async function verify() {
  expect((await service.call('POST', PATH, ofLog())).status).toBe(202)
  await service.idle('jobs')
  return stateOf()
}

async function stateOf() {
  const { status, body } = await service.call('GET', PATH, ofLog())
  expect(status).toBe(200)
  return body.items[0]
}

/** Returns the changes of the entries about findings in the log. */
async function reported(): Promise<object[]> {
  const query = { tenant_id: scene.clinic.id, action: 'audit.tampering_found' }
  const { body } = await service.call('GET', '/api/admin/audit', { token, query })
  return body.items.map(({ changes }: { changes: object }) => changes)
}

/** Returns the mails to a superadmin about the log. */
async function mails(): Promise<string[]> {
  const texts = (await mailsTo(service, SUPERADMIN.email)).map(({ text = '' }) => text)
  return texts.filter((text) => text.includes(`clinic ${scene.clinic.id} `))
}

const rename = (index: number) =>
  scene.entryAt(index).then(async (id) => {
    await scene.tamper(`update journal set changes = '{"after":{"name":"X"}}' where id = ${id}`)
    return id
  })

describe('an intact log', () => {
  test('is verified up to its size, and the state says when', async () => {
    await newScene(300)
    expect(await stateOf()).toMatchObject({ verified_size: 0, verified_at: null, running: null })
    const { size, ...state } = await verify()
    expect(size).toBeGreaterThan(300)
    expect(state).toMatchObject({
      tenant_id: scene.clinic.id,
      verified_size: size,
      verified_at: expect.any(String),
      findings: 0,
      running: null,
    })
    expect(await reported()).toEqual([])
  })

  test('is verified again after 28 days, or a day after it grew', async () => {
    await newScene(2)
    const run = () => runOnce(service)
    const aged = async (days: number) => {
      await service.database.sql(
        `update audit_verifications set pass_started_at = now() - make_interval(days => $2),
           verified_at = '2020-01-01' where tenant_id = $1`,
        [scene.clinic.id, days],
      )
      await run()
      return (await stateOf()).verified_at > '2021'
    }
    await run()
    expect(await aged(27)).toBe(false)
    expect(await aged(29)).toBe(true)
    await scene.grow(1)
    expect(await aged(0)).toBe(false)
    expect(await aged(2)).toBe(true)
    expect((await stateOf()).verified_size).toBe((await stateOf()).size)
  })
})

/** Runs the hourly verification on a node. @param onVerified called after each segment */
async function runOnce(
  { app, clock, database }: Service,
  { signal = new AbortController().signal, onVerified = (_leaves: number): void => undefined } = {},
): Promise<void> {
  const deps = {
    db: app.db,
    clock,
    log: silentLog,
    mailer: { isConfigured: false, send: async () => undefined },
    listSuperadmins: async () => [],
    openConnection: () => ownerClient(database.address),
    onVerified,
  }
  await verifyLogs(deps, { signal })
}

describe('a changed entry in an old part of the log', () => {
  test('is journaled, mailed, counted and shown in health, once', async () => {
    await newScene(600)
    await verify()
    const id = await rename(5)
    expect(await verify()).toMatchObject({ findings: 1 })
    const finding = { kind: 'changed', index: 5, entry_id: id }
    expect(await reported()).toEqual([finding])
    const [mail, ...more] = await mails()
    expect(mail).toContain(`entry ${id}, index 5, changed`)
    expect(more).toEqual([])
    const health = await service.call('GET', '/api/admin/health', { token })
    expect(health.body.components).toContainEqual(
      expect.objectContaining({
        name: 'audit_log',
        state: 'degraded',
        reason: expect.stringContaining('changed'),
        runbook: 'audit-log-finding.md',
      }),
    )
    expect(await service.app.metrics.registry.metrics()).toMatch(
      /wardkeep_audit_findings{kind="changed"} [1-9]/,
    )
    expect(service.logged).toContainEqual([
      'error',
      expect.objectContaining({ tenant_id: scene.clinic.id, index: 5 }),
      'audit log was altered',
    ])
    await verify()
    expect(await reported()).toEqual([finding])
    expect(await mails()).toHaveLength(1)
  })

  test('is gone after it was restored, and is reported again if it returns', async () => {
    await newScene(3)
    const id = await scene.entryAt(2)
    const name = (text: string) =>
      scene.tamper(`update journal set resource_id = ${text} where id = ${id}`)
    await name("resource_id || 'X'")
    expect(await verify()).toMatchObject({ findings: 1 })
    await name('left(resource_id, -1)')
    expect(await verify()).toMatchObject({ findings: 0 })
    await name("resource_id || 'X'")
    expect(await verify()).toMatchObject({ findings: 1 })
    expect(await reported()).toHaveLength(2)
  })
})

describe('the verification finds', () => {
  const kinds = async () => {
    await verify()
    return service.database.sql(
      `select kind, index, entry_id from audit_findings where tenant_id = $1 and gone_at is null
       order by kind, index`,
      [scene.clinic.id],
    )
  }

  test('entries that were inserted or deleted after sealing', async () => {
    await newScene(300)
    const id = await scene.entryAt(9)
    await scene.tamper(`delete from journal where id = ${id}`)
    await scene.tamper(
      `insert into journal (tenant_id, action, resource_type, created_at, xid)
       select tenant_id, action, resource_type, created_at, xid from journal
       where id = ${await scene.entryAt(0)}`,
    )
    expect(await kinds()).toEqual([
      { kind: 'inserted', index: null, entry_id: expect.any(Number) },
      { kind: 'removed', index: 9, entry_id: id },
    ])
  })

  test('an entry and its leaf that were rewritten with all tiles, by its mark', async () => {
    await newScene(3)
    const id = await scene.entryAt(2)
    await scene.tamper(
      `update journal set mac = set_byte(mac, 0, 255 - get_byte(mac, 0)) where id = ${id}`,
    )
    expect(await kinds()).toEqual([{ kind: 'not_written_by_service', index: 2, entry_id: id }])
  })

  test('changed and missing tiles on every level', async () => {
    await newScene(600)
    await scene.tamper(
      `update audit_tiles set hashes = set_byte(hashes, 40, 255 - get_byte(hashes, 40))
       where tenant_id = ${scene.clinic.id} and level = 1`,
    )
    expect(await kinds()).toEqual([{ kind: 'changed', index: 256, entry_id: null }])
    await scene.tamper(`delete from audit_tiles where tenant_id = ${scene.clinic.id} and level = 1`)
    expect(await kinds()).toEqual([{ kind: 'changed', index: 0, entry_id: null }])
    await scene.tamper(
      `delete from audit_tiles where tenant_id = ${scene.clinic.id} and level = 0 and index = 1`,
    )
    expect(await kinds()).toContainEqual({ kind: 'changed', index: 256, entry_id: null })
  })

  test('a log that does not lead to its last head, or is shorter than before', async () => {
    await newScene(5)
    await verify()
    const heads = await service.call('GET', '/api/admin/audit/heads', { token })
    expect(heads.status).toBe(200)
    await scene.tamper(
      `update audit_logs set head_root = set_byte(head_root, 0, 255 - get_byte(head_root, 0))
       where tenant_id = ${scene.clinic.id}`,
    )
    expect(await kinds()).toEqual([{ kind: 'forked', index: null, entry_id: null }])
    await scene.tamper(
      `update audit_logs set size = 3, head_size = 0, head_root = null, checkpoint = null
       where tenant_id = ${scene.clinic.id}`,
    )
    expect(await kinds()).toContainEqual({ kind: 'rolled_back', index: null, entry_id: null })
    // Otherwise the sealer could not continue.
    await scene.tamper(
      `update audit_logs log set size = (select count(*) from audit_leaves leaf
         where leaf.tenant_id = log.tenant_id) where tenant_id = ${scene.clinic.id}`,
    )
  })
})

test('many findings have an entry each up to 100, and then one for their number', async () => {
  await newScene(150)
  const from = await scene.entryAt(20)
  const until = await scene.entryAt(150)
  await scene.tamper(
    `update journal set changes = null where tenant_id = ${scene.clinic.id}
     and id >= ${from} and id < ${until}`,
  )
  expect(await verify()).toMatchObject({ findings: 130 })
  const { body } = await service.call('GET', '/api/admin/audit', {
    token,
    query: { tenant_id: scene.clinic.id, action: 'audit.tampering_found' },
  })
  expect(body.total).toBe(101)
  expect(body.items[0].changes).toEqual({ more: 30 })
  expect(await mails()).toHaveLength(1)
})

test('a run that was stopped continues at its next segment, and repeats no finding', async () => {
  await newScene(SEGMENT_LEAVES + 10)
  const id = await rename(SEGMENT_LEAVES + 5)
  const newest = (await stateOf()).size - SEGMENT_LEAVES
  const dying = new AbortController()
  const verified: number[] = []
  const onVerified = (leaves: number) => {
    verified.push(leaves)
    if (leaves === newest) dying.abort(new Error('the node dies'))
  }
  await expect(runOnce(service, { signal: dying.signal, onVerified })).rejects.toThrow()
  expect(await stateOf()).toMatchObject({ running: { done: newest }, verified_at: null })
  verified.length = 0
  await runOnce(service, { onVerified })
  expect(verified).toContain(SEGMENT_LEAVES)
  expect(verified).not.toContain(newest)
  expect(await stateOf()).toMatchObject({ verified_size: newest + SEGMENT_LEAVES, findings: 1 })
  expect(await reported()).toEqual([{ kind: 'changed', index: SEGMENT_LEAVES + 5, entry_id: id }])
})

test('a second node waits, and verifies nothing twice', async () => {
  await newScene(300)
  const holder = await openLockConnection(ownerClient(service.database.address))
  expect(await holder.take('auditVerification', 0)).toBe(true)
  onTestFinished(() => holder.close())
  const verified: number[] = []
  const runs = [1, 2].map(() =>
    runOnce(service, { onVerified: (leaves) => void verified.push(leaves) }),
  )
  await holder.release('auditVerification', 0)
  await Promise.all(runs)
  const { size } = await stateOf()
  expect(verified.filter((leaves) => leaves === size)).toHaveLength(1)
})

describe('a request', () => {
  test('starts no second verification while one runs, and returns its state', async () => {
    await newScene(3)
    const holder = await openLockConnection(ownerClient(service.database.address))
    onTestFinished(() => holder.close())
    expect(await holder.take('auditVerification', 0)).toBe(true)
    const first = await service.call('POST', PATH, ofLog())
    const { running } = first.body.items[0]
    expect(running).toMatchObject({ done: 0, is_requested: true })
    await scene.grow(1)
    const second = await service.call('POST', PATH, ofLog())
    expect(second.body.items[0].running).toEqual(running)
    await holder.release('auditVerification', 0)
    await service.idle('jobs')
    expect(await stateOf()).toMatchObject({ verified_size: running.size, running: null })
  })

  test('of an auditor verifies the log of their tenant, and of a superadmin all logs', async () => {
    await newScene(3)
    const { auditor } = scene.clinic.people
    const own = await service.call('POST', PATH, { token: auditor.token })
    expect(own.body.items.map(({ tenant_id }: any) => tenant_id)).toEqual([scene.clinic.id])
    const all = await service.call('POST', PATH, { token })
    await service.idle('jobs')
    const ids = all.body.items.map(({ tenant_id }: any) => tenant_id)
    expect(ids).toEqual(expect.arrayContaining([0, scene.clinic.id]))
    const { body } = await service.call('GET', PATH, { token })
    expect(body.items.every(({ verified_at }: any) => verified_at !== null)).toBe(true)
  })
})
