/** Faults that only people can repair. Self-healing never proposes a fix for them, but always reports them. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Severity } from '../../src/platform/feature/fix.ts'
import { superadmin } from '../support/clinics.ts'
import type { TestDatabase } from '../support/database.ts'
import { openService, type Service } from '../support/service.ts'
import { forget, type Healing, heal, healthOf, hurt, soreDatabase } from './scene.ts'
import { findingOf, openSores, soreFix } from './sores.ts'

/** Creates a fix for sores that only people can repair. */
function forPeople(other: Parameters<typeof soreFix>[0] = {}) {
  const { repair: _, ...told } = soreFix(other)
  return told
}

describe('a fault that only a person can repair', () => {
  let database: TestDatabase
  let tenant: number

  beforeAll(async () => {
    ;({ database, tenant } = await soreDatabase())
  })
  beforeEach(() => forget(database))

  const close = () => database.sql('update sores set is_open = false')
  const told = async (node: Healing) =>
    (await node.journal()).map(({ changes }) => changes.subjects.join())

  test('belongs to a fix that stays idle and cannot be confirmed', async () => {
    const node = await heal(database, [forPeople()])
    await hurt(database, ['a'])
    const { fixes } = await node.scan()
    expect(fixes).toMatchObject([{ status: 'idle', occurrences: 1 }])
    expect(await node.fix()).toMatchObject({ status: 'idle', occurrences: 1, repairable: false })
    await expect(node.confirm()).rejects.toMatchObject({ code: 'fix_not_proposed' })
  })

  test('is journaled once per tenant, on any node and in any number of scans', async () => {
    const one = await heal(database, [forPeople()])
    const other = await heal(database, [forPeople()])
    await hurt(database, ['a', 'b'], tenant)
    await hurt(database, ['c'])
    await Promise.all([one.scan(), other.scan()])
    await other.scan()
    const restarted = await heal(database, [forPeople()])
    await restarted.scan()
    const entry = (tenant_id: number | null, subjects: string[]) => ({
      action: 'self_healing.proposed',
      tenant_id,
      changes: {
        key: 'tests.sores',
        severity: 'high',
        occurrences: subjects.length,
        subjects,
        repairable: false,
      },
    })
    const entries = await one.journal()
    expect(entries).toHaveLength(2)
    expect(entries).toEqual(expect.arrayContaining([entry(tenant, ['a', 'b']), entry(null, ['c'])]))
    await hurt(database, ['d'])
    await restarted.scan()
    expect((await told(one)).slice(2)).toEqual(['d'])
  })

  test.each<[Severity, string, string]>([
    ['low', 'info', 'ok'],
    ['medium', 'warn', 'ok'],
    ['high', 'error', 'degraded'],
    ['critical', 'error', 'degraded'],
  ])(
    'with the severity "%s" is logged once as "%s", and the health is "%s"',
    async (severity, level, state) => {
      const node = await heal(database, [forPeople({ severity })])
      await hurt(database, ['a'])
      for (let scans = 0; scans < 3; scans += 1) await node.scan()
      expect(node.logged).toEqual([
        [
          level,
          { fix: 'tests.sores', severity, occurrences: 1, subjects: ['a'] },
          'fault found that requires manual repair',
        ],
      ])
      expect(healthOf(node)).toBe(state)
      const restarted = await heal(database, [forPeople({ severity })])
      await restarted.healing.upkeep?.[0]?.run()
      expect([healthOf(restarted), restarted.logged]).toEqual([state, []])
      await close()
      await node.scan()
      expect(healthOf(node)).toBe('ok')
    },
  )

  test('is reported again when it has disappeared and come back', async () => {
    const node = await heal(database, [forPeople()])
    for (let times = 1; times <= 2; times += 1) {
      await hurt(database, ['a'])
      await node.scan()
      expect([await told(node), node.logged.length]).toEqual([Array(times).fill('a'), times])
      await close()
      await node.scan()
      expect(await node.fix()).toMatchObject({ status: 'idle', occurrences: 0 })
    }
  })

  test('is neither resolved nor new if a scan could not check for it', async () => {
    const scale = { isBroken: false }
    const node = await heal(database, [
      forPeople({
        async detect(tx) {
          if (scale.isBroken) throw new Error('the scale is broken')
          return { findings: (await openSores(tx)).map(findingOf), looked_at: 100 }
        },
      }),
    ])
    await hurt(database, ['a'])
    await node.scan()
    scale.isBroken = true
    await hurt(database, ['b'])
    await node.scan()
    expect(await node.fix()).toMatchObject({ unknown: 'the scale is broken', occurrences: 1 })
    expect([healthOf(node), await told(node)]).toEqual(['degraded', ['a']])
    scale.isBroken = false
    await node.scan()
    expect([healthOf(node), await told(node)]).toEqual(['degraded', ['a', 'b']])
  })

  test('is urgent if it affects the journal, blocks no other check, and is journaled later', async () => {
    const detect = async () => ({ findings: [], looked_at: 1 })
    const node = await heal(database, [forPeople(), soreFix({ key: 'tests.other', detect })])
    await hurt(database, ['a'])
    await database.sql('alter table journal rename column changes to lost')
    const { fixes } = await node
      .scan()
      .finally(() => database.sql('alter table journal rename column lost to changes'))
    expect(fixes).toMatchObject([{ status: 'idle', occurrences: 1 }, { key: 'tests.other' }])
    expect(healthOf(node)).toBe('degraded')
    expect(node.logged.at(-1)).toMatchObject([
      'error',
      { fix: 'tests.sores' },
      'recording of a fault in the audit log failed',
    ])
    await node.scan()
    expect(await told(node)).toEqual(['a'])
  })

  test('does not affect a repairable fault, which is proposed as usual and not logged', async () => {
    const node = await heal(database, [soreFix()])
    await hurt(database, ['a'])
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'proposed', repairable: true })
    const changes = { key: 'tests.sores', severity: 'high', occurrences: 1, subjects: ['a'] }
    expect((await node.journal()).map((entry) => entry.changes)).toEqual([changes])
    expect([healthOf(node), node.logged]).toEqual(['degraded', []])
    expect(await node.confirm()).toMatchObject({ status: 'applied', occurrences: 0 })
    expect(healthOf(node)).toBe('ok')
  })
})

describe('a missing database column', () => {
  const COLUMN = 'column sealed_notes of table patients'
  const CONSTRAINT = 'constraint patients__sealed_notes_key of table patients'
  let service: Service
  let token: string

  beforeAll(async () => {
    service = await openService()
    token = (await superadmin(service)).token
  })

  const drop = () => service.database.sql('alter table patients drop column sealed_notes')
  const bringBack = () =>
    service.database.sql(`alter table patients add column sealed_notes bytea,
      add constraint patients__sealed_notes_key check (sealed_by(sealed_notes) = data_key_id)`)
  const scan = (node = service) => node.app.features.selfHealing.scan()
  const healthOf = async (node = service) => {
    const { status, body } = await node.call('GET', '/api/admin/health', { token })
    return [status, body.status, body.checks.self_healing]
  }
  const tables = async (node = service) => {
    const { body } = await node.call('GET', '/api/admin/self-healing/fixes', { token })
    return body.items.find(({ key }: { key: string }) => key === 'database.schema')
  }
  /** Returns the entries in the journal of the platform's tenant. */
  const told = () =>
    service.database.sql(
      `select action, changes -> 'subjects' as subjects from journal
       join tenants on tenants.id = journal.tenant_id and is_platform
       where changes ->> 'key' = 'database.schema' order by journal.id`,
    )
  const entry = { action: 'self_healing.proposed', subjects: [COLUMN, CONSTRAINT] }

  test('is reported once, degrades the health until it is restored, and is reported again if it is lost again', async () => {
    await scan()
    expect(await healthOf()).toEqual([200, 'ok', 'ok'])
    await drop()
    for (let scans = 0; scans < 3; scans += 1) await scan()
    const restarted = await openService({ database: service.database })
    await scan(restarted)
    expect(await told()).toEqual([entry])
    for (const node of [service, restarted]) {
      expect(await healthOf(node)).toEqual([200, 'degraded', 'degraded'])
      expect(await tables(node)).toMatchObject({
        status: 'idle',
        repairable: false,
        evidence: [{ subject: COLUMN }, { subject: CONSTRAINT }],
      })
    }
    const lines = [...service.logged, ...restarted.logged].filter(
      ([, fields]) => (fields as { fix?: string }).fix === 'database.schema',
    )
    const line = { severity: 'critical', subjects: [COLUMN, CONSTRAINT] }
    expect(lines).toMatchObject([['error', line, expect.stringContaining('manual repair')]])
    await bringBack()
    await scan()
    expect(await healthOf()).toEqual([200, 'ok', 'ok'])
    await drop()
    await scan()
    expect(await told()).toEqual([entry, entry])
    expect(await healthOf()).toEqual([200, 'degraded', 'degraded'])
  })
})
