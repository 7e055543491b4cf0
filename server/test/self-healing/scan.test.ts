/** Scans: findings, reports and repairs. Uses fixes that are made for this test. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { HOUR } from '../../src/lib/clock.ts'
import type { TestDatabase } from '../support/database.ts'
import { forget, heal, hurt, soreDatabase } from './scene.ts'
import { findingOf, openSores, soreFix, treat } from './sores.ts'

let database: TestDatabase
let tenant: number

beforeAll(async () => {
  ;({ database, tenant } = await soreDatabase())
})
beforeEach(() => forget(database))

const findings = () =>
  database.sql<{ subject: string }>('select subject from self_healing_findings order by subject')
const subjects = async () => (await findings()).map(({ subject }) => subject)

describe('a fault found by a scan', () => {
  test('is proposed when it appears, and journaled once per tenant', async () => {
    const node = await heal(database, [soreFix()])
    await hurt(database, ['a', 'b'], tenant)
    await hurt(database, ['c'])
    for (let scans = 0; scans < 3; scans += 1) await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'proposed', occurrences: 3, reason: null })
    const proposed = { action: 'self_healing.proposed' }
    expect(await node.journal()).toEqual(
      expect.arrayContaining([
        {
          ...proposed,
          tenant_id: tenant,
          changes: { key: 'tests.sores', severity: 'high', occurrences: 2, subjects: ['a', 'b'] },
        },
        {
          ...proposed,
          tenant_id: null,
          changes: { key: 'tests.sores', severity: 'high', occurrences: 1, subjects: ['c'] },
        },
      ]),
    )
    await hurt(database, ['d'], tenant)
    await node.scan()
    expect((await node.journal()).slice(2)).toMatchObject([{ changes: { subjects: ['d'] } }])
  })

  test('becomes idle when it disappears, and is reported again when it returns', async () => {
    const node = await heal(database, [soreFix()])
    await hurt(database, ['a'])
    await node.scan()
    await database.sql('update sores set is_open = false')
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'idle', occurrences: 0, evidence: [] })
    await hurt(database, ['a'])
    await node.scan()
    expect((await node.journal()).map(({ action }) => action)).toEqual([
      'self_healing.proposed',
      'self_healing.proposed',
    ])
  })

  test('is shown with measured and expected values, and the time it started', async () => {
    const since = '2026-01-02T03:04:05.678Z'
    const fix = soreFix({
      detect: async () => ({
        findings: [{ ...findingOf({ name: 'old', tenant_id: null }), since }],
        looked_at: 10,
      }),
    })
    const node = await heal(database, [fix])
    await node.scan()
    const measures = { measured: { is_open: true }, expected: { is_open: false } }
    expect((await node.fix()).evidence).toEqual([
      { tenant_id: null, subject: 'old', subject_name: null, ...measures, people: {}, since },
    ])
  })

  test('is shown with twenty of its findings and the number of all findings', async () => {
    const node = await heal(database, [soreFix()])
    await hurt(
      database,
      Array.from({ length: 75 }, (_, n) => `sore ${n}`),
    )
    await node.scan()
    const { evidence, occurrences } = await node.fix()
    expect([evidence.length, occurrences]).toEqual([20, 75])
    expect((await node.journal())[0]?.changes.subjects).toHaveLength(20)
  })
})

describe('a check of a scan', () => {
  test('is reported as unknown if it throws or times out, keeps its findings and stops no other check', async () => {
    const broken: { how?: 'throws' | 'sleeps' | 'waits' } = {}
    const detect: ReturnType<typeof soreFix>['detect'] = async (tx) => {
      if (broken.how === 'throws') throw new Error('the scale is broken')
      if (broken.how === 'sleeps') await sql`select pg_sleep(600)`.execute(tx.db)
      if (broken.how === 'waits') await new Promise(() => undefined)
      return { findings: (await openSores(tx)).map(findingOf), looked_at: 100 }
    }
    const other = soreFix({ key: 'tests.other' })
    const node = await heal(database, [soreFix({ detect }), other], { lookMs: 400 })
    await hurt(database, ['a'])
    await node.scan()
    await database.sql('update sores set is_open = false')
    for (const [how, unknown] of [
      ['throws', 'the scale is broken'],
      ['sleeps', 'the check took longer than 0.4 s'],
      ['waits', 'the check took longer than 0.4 s'],
    ] as const) {
      broken.how = how
      const { fixes } = await node.scan()
      expect(fixes).toMatchObject([{ unknown }, { key: 'tests.other', unknown: null }])
      expect(await node.fix()).toMatchObject({ unknown, status: 'proposed', occurrences: 1 })
      expect(await node.fix('tests.other')).toMatchObject({ status: 'idle', occurrences: 0 })
    }
    delete broken.how
    await node.scan()
    expect(await node.fix()).toMatchObject({ unknown: null, status: 'idle', occurrences: 0 })
  })

  test('is reported as unknown with a code if its statement fails, and the log contains the message', async () => {
    const detect: ReturnType<typeof soreFix>['detect'] = async (tx) => {
      await sql`select 'Paula Patient'::integer`.execute(tx.db)
      return { findings: [], looked_at: 0 }
    }
    const node = await heal(database, [soreFix({ detect })])
    await node.scan()
    expect((await node.fix()).unknown).toBe(
      'PostgreSQL rejected a statement (22P02). See the log for the cause.',
    )
  })

  test('stops no other check if its findings cannot be written because of a locked row', async () => {
    const node = await heal(database, [soreFix(), soreFix({ key: 'tests.other' })])
    await hurt(database, ['a'])
    // Raises the same error as the server does for a lock that was not granted in time.
    await database.sql(`
      create function held() returns trigger language plpgsql as $$ begin
        if (select key = 'tests.sores' from self_healing_fixes where id = new.fix_id) then
          raise lock_not_available using message = 'canceling statement due to lock timeout';
        end if;
        return new;
      end $$;
      create trigger held before insert on self_healing_findings for each row execute function held()`)
    const { fixes } = await node.scan().finally(() => database.sql('drop function held() cascade'))
    expect(fixes).toMatchObject([
      { key: 'tests.sores', unknown: expect.stringContaining('Try again') },
      { key: 'tests.other', unknown: null, occurrences: 1 },
    ])
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'proposed', occurrences: 1 })
  })

  test('is rolled back if it tries to write', async () => {
    const detect: ReturnType<typeof soreFix>['detect'] = async (tx) => {
      await sql`update sores set is_open = false`.execute(tx.db)
      return { findings: [], looked_at: 0 }
    }
    const node = await heal(database, [soreFix({ detect })])
    await hurt(database, ['a'])
    await node.scan()
    expect((await node.fix()).unknown).toBe(
      'PostgreSQL rejected a statement (25006). See the log for the cause.',
    )
    expect(await database.sql('select is_open from sores')).toEqual([{ is_open: true }])
  })

  test('may run in slices: it starts again after the last one, and drops findings not seen in a whole round', async () => {
    const looked: (string | undefined)[] = []
    const fix = soreFix({
      async detect(tx, from) {
        looked.push(from)
        const sores = await openSores(tx, from)
        const slice = sores.slice(0, 2)
        const next = sores.length > 2 ? slice.at(-1)?.name : undefined
        return {
          findings: slice.map(findingOf),
          looked_at: 2,
          ...(next === undefined ? {} : { next }),
        }
      },
      recheck: async (tx, some) => {
        const open = new Set((await openSores(tx)).map(({ name }) => name))
        return some.filter(({ subject }) => open.has(subject))
      },
    })
    const node = await heal(database, [fix])
    await hurt(database, ['a', 'b', 'c', 'd', 'e'])
    for (let scans = 0; scans < 3; scans += 1) await node.scan()
    expect(looked).toEqual([undefined, 'b', 'd'])
    expect(await subjects()).toEqual(['a', 'b', 'c', 'd', 'e'])
    await database.sql("update sores set is_open = false where name in ('a', 'e')")
    await node.scan()
    // The result of the rest of the round is not known yet.
    expect(await subjects()).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect((await node.fix()).status).toBe('proposed')
    await node.scan()
    expect(await subjects()).toEqual(['b', 'c', 'd'])
    expect(await node.confirm()).toMatchObject({
      status: 'applied',
      result: { repaired: 3, remaining: 0 },
    })
  })

  test('is reported as unknown if it runs in slices but cannot recheck findings', async () => {
    const detect = async () => ({ findings: [], looked_at: 1, next: 'x' })
    const node = await heal(database, [soreFix({ detect })])
    await node.scan()
    expect((await node.fix()).unknown).toContain('needs a recheck function')
  })
})

describe('an automatic fix', () => {
  const automatic = soreFix({ automatic: true })

  test('is applied by the scan, and journaled without a user', async () => {
    const node = await heal(database, [automatic])
    await hurt(database, ['a'], tenant)
    const { fixes } = await node.scan()
    expect(fixes).toMatchObject([{ status: 'applied', result: { repaired: 1, remaining: 0 } }])
    expect(await node.fix()).toMatchObject({ status: 'applied', applied_by: null, occurrences: 0 })
    expect(await node.journal()).toEqual([
      {
        action: 'self_healing.applied',
        tenant_id: tenant,
        changes: {
          key: 'tests.sores',
          severity: 'high',
          before: { status: 'idle', occurrences: 1 },
          after: { status: 'applied', occurrences: 0 },
          repaired: 1,
          subjects: ['a'],
        },
      },
    ])
  })

  test.each(['propose', 'off'] as const)('is proposed with SELF_HEALING=%s', async (mode) => {
    const node = await heal(database, [automatic], { mode })
    await hurt(database, ['a'])
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'proposed', occurrences: 1 })
  })

  test('is only proposed if the catalogue says so', async () => {
    const node = await heal(database, [automatic])
    await database.sql('update self_healing_fixes set automatic = false')
    await hurt(database, ['a'])
    await node.scan()
    expect((await node.fix()).status).toBe('proposed')
  })

  test('is only proposed if it has to repair the same finding for the third time in a day', async () => {
    const node = await heal(database, [automatic])
    for (let times = 0; times < 2; times += 1) {
      await hurt(database, ['again'])
      await node.scan()
      node.clock.advance(HOUR)
    }
    await hurt(database, ['again', 'first'])
    await node.scan()
    const held = await node.fix()
    expect(held).toMatchObject({ status: 'proposed', occurrences: 1 })
    expect(held.reason).toContain('again needs this repair for the 3rd time within 24 hours')
    expect(held.evidence).toMatchObject([{ subject: 'again' }])
    expect((await node.journal()).at(-1)).toMatchObject({
      action: 'self_healing.proposed',
      changes: { reason: held.reason },
    })
    // A day has passed since the first repair, so this repair is only the second within 24 hours.
    node.clock.advance(23 * HOUR)
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'applied', occurrences: 0, reason: null })
  })

  test.each([
    ['more than a fifth of all objects', 5, 20, 'proposed'],
    ['a fifth of all objects', 4, 20, 'applied'],
    ['all of a few objects', 4, 4, 'applied'],
    ['more than a hundred objects', 101, 100_000, 'proposed'],
    ['a hundred of many objects', 100, 100_000, 'applied'],
  ])('with findings for %s is then %s', async (_what, count, looked_at, status) => {
    const detect: ReturnType<typeof soreFix>['detect'] = async (tx) => ({
      findings: (await openSores(tx)).map(findingOf),
      looked_at,
    })
    const node = await heal(database, [soreFix({ automatic: true, detect })])
    await hurt(
      database,
      Array.from({ length: count }, (_, n) => `sore ${n}`),
    )
    await node.scan()
    const fix = await node.fix()
    expect(fix.status).toBe(status)
    if (status === 'proposed') expect(fix.reason).toContain('Check that the findings are correct')
    const [row] = await database.sql('select count(*)::int as treated from sores where not is_open')
    expect(row?.treated).toBe(status === 'applied' ? count : 0)
  })

  test('is marked as failed with the reason if it throws, and retried by the next scan', async () => {
    const patient = { holdsStill: false }
    const repair: typeof treat = (finding, repairing) =>
      patient.holdsStill
        ? treat(finding, repairing)
        : Promise.reject(new Error('it does not hold still'))
    const node = await heal(database, [soreFix({ automatic: true, repair })])
    await hurt(database, ['a'], tenant)
    await node.scan()
    expect(await node.fix()).toMatchObject({
      status: 'failed',
      reason: 'it does not hold still',
      result: { repaired: 0, failed: 1, remaining: 1 },
    })
    expect((await node.journal()).map(({ action }) => action)).toEqual(['self_healing.failed'])
    patient.holdsStill = true
    await node.scan()
    expect(await node.fix()).toMatchObject({ status: 'applied', reason: null })
  })

  test('is marked as failed if its fault is found again after the repair', async () => {
    const repair: typeof treat = async () => 'repaired'
    const node = await heal(database, [soreFix({ automatic: true, repair })])
    await hurt(database, ['a'])
    await node.scan()
    expect(await node.fix()).toMatchObject({
      status: 'failed',
      reason: 'the fault was found again after the repair',
    })
  })
})

test('a scan runs on one of two nodes that start it concurrently, and the other returns immediately', async () => {
  const inside = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const detect: ReturnType<typeof soreFix>['detect'] = async () => {
    inside.resolve()
    await goOn.promise
    return { findings: [], looked_at: 1 }
  }
  const [one, other] = [
    await heal(database, [soreFix({ detect })]),
    await heal(database, [soreFix({ detect })]),
  ]
  const first = one.scan()
  await inside.promise
  expect(await other.scan()).toBeUndefined()
  goOn.resolve()
  expect(await first).toMatchObject({ fixes: [{ unknown: null }] })
  expect(await other.scan()).toMatchObject({ fixes: [{ unknown: null }] })
})

test('a scan that finds nothing stores only its time', async () => {
  const node = await heal(database, [soreFix()])
  await node.scan()
  const rows = () => database.sql('select xmin, * from self_healing_fixes')
  const before = await rows()
  node.clock.advance(HOUR)
  await node.scan()
  expect(await rows()).toEqual(before)
  expect(await database.sql('select at, looked_at, unknown from self_healing_scans')).toEqual([
    { at: expect.any(String), looked_at: 1, unknown: 0 },
  ])
})

test("a background scan starts after a pause of nine times the last scan's duration, and shutdown ends it", async () => {
  const sleepy = (key: string) =>
    soreFix({
      key,
      async detect(tx) {
        await sql`select pg_sleep(0.03)`.execute(tx.db)
        return { findings: [], looked_at: 1 }
      },
    })
  const node = await heal(database, [sleepy('tests.a'), sleepy('tests.b')])
  const scanned = await node.healing.scan({ isPatient: true })
  expect(scanned?.fixes).toHaveLength(2)
  expect(scanned?.duration_ms).toBeGreaterThanOrEqual(2 * 10 * 30)
  const ending = new AbortController()
  const looked = Promise.withResolvers<void>()
  const resting = await heal(database, [
    soreFix({
      async detect() {
        looked.resolve()
        return { findings: [], looked_at: 1 }
      },
    }),
    sleepy('tests.never'),
  ])
  const scan = resting.healing.scan({ signal: ending.signal, isPatient: true })
  const ended = expect(scan).rejects.toThrow('aborted')
  await looked.promise
  ending.abort()
  await ended
})
