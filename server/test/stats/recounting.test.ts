/** Each event is counted exactly once: after failures and restarts, by several nodes, and when counts are rebuilt. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { COUNTING_CONSUMER, countBatch, countEntries } from '../../src/features/stats/counting.ts'
import { rebuildCounts } from '../../src/features/stats/rebuild.ts'
import type { TenantTx } from '../../src/platform/db/index.ts'
import { consume, type Follower } from '../../src/platform/journal/index.ts'
import { atTheEnd } from '../support/cleanup.ts'
import { type Clinic, makeClinic, superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { countAll, totalsOf } from './scene.ts'

let service: Service
let clinic: Clinic
let clinics = 0

beforeAll(async () => {
  service = await openService()
})

beforeEach(async () => {
  clinic = await makeClinic(service, await superadmin(service), `clinic-${++clinics}`)
})

/** Writes entries of several series, the first half of them 20 minutes earlier. */
const write = (count: number) =>
  service.database.sql(
    `insert into journal (tenant_id, action, resource_type, is_access, created_at)
     select $1, actions.action, 'user', actions.is_access, now() - (n % 2) * interval '20 minutes'
     from generate_series(1, $2) n, (values ('auth.login', false), ('auth.login_failed', false),
       ('user.updated', false), ('patient.read', true)) actions(action, is_access)`,
    [clinic.id, count],
  )
/** Counts in the background, as a node does, until the end of the test. */
function startNode(): Follower {
  const node = countEntries(service.app.db, silentLog)
  atTheEnd(() => node.stop())
  return node
}
const counted = () => totalsOf({ service, clinic })
const stored = () =>
  service.database.sql('select tenant_id, series, slot, step, count from stats order by 1, 2, 3, 4')
const plus = (totals: Record<string, number>, count: number) => ({
  ...totals,
  sign_ins: (totals.sign_ins ?? 0) + count,
  refused_sign_ins: (totals.refused_sign_ins ?? 0) + count,
  changes: (totals.changes ?? 0) + count,
  patient_reads: (totals.patient_reads ?? 0) + count,
})
/** Counts once as the consumer does. */
const countOnce = (work: (tx: TenantTx) => Promise<unknown> = async () => undefined) =>
  consume(service.app.db, {
    name: COUNTING_CONSUMER,
    includesAccesses: true,
    columns: ['tenant_id', 'action', 'created_at'],
    async handle(tx, entries) {
      countBatch(tx, entries)
      await work(tx)
    },
  })

describe('counting', () => {
  it('counts each entry once, although a batch fails after its counts were written', async () => {
    const before = await counted()
    const rows = await stored()
    await write(10)
    const attempt = () =>
      countOnce(async (tx) => {
        await sql`select 1`.execute(tx.db)
        throw new Error('on purpose')
      })
    await until('a batch has failed', async () => {
      const failed = await attempt().then(
        () => undefined,
        (error: Error) => error.message,
      )
      return failed === 'on purpose' || undefined
    })
    expect(await stored()).toEqual(rows)
    expect(await counted()).toEqual(plus(before, 10))
  })

  it('counts each entry once, although the connection ends before the commit', async () => {
    const before = await counted()
    await write(10)
    await until('the connection was ended', async () => {
      const ended = await countOnce(async (tx) => {
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(tx.db)
      }).then(
        () => undefined,
        () => true,
      )
      return ended
    })
    expect(await counted()).toEqual(plus(before, 10))
  })

  it('counts each entry once on two nodes', async () => {
    const before = await counted()
    const nodes = [startNode(), startNode()]
    for (let round = 0; round < 10; round += 1) {
      await write(20)
      await Promise.race(nodes.map((node) => node.idle()))
    }
    expect(await counted()).toEqual(plus(before, 200))
  })

  it('counts accesses and other entries in one order, with batches smaller than either', async () => {
    const before = await counted()
    await write(30)
    const small = () =>
      consume(service.app.db, {
        name: COUNTING_CONSUMER,
        includesAccesses: true,
        batch: 7,
        handle: async (tx, entries) => countBatch(tx, entries),
      })
    await until('all entries are counted', async () => {
      while ((await small()) === 7);
      const [row] = await service.database.sql<{ left: string }>(
        `select count(*) as left from journal j, journal_consumers c
         where c.consumer = 'stats' and (j.xid, j.id) > (c.xid, c.id)`,
      )
      return Number(row?.left) === 0 || undefined
    })
    expect(await counted()).toEqual(plus(before, 30))
  })
})

describe('rebuilding', () => {
  it('gives the same counts as counting, and keeps those of deliveries', async () => {
    await write(25)
    await service.database.sql(
      `insert into stats (tenant_id, series, slot, step, count)
       values ($1, 'deliveries_failed', '2026-11-01T00:00Z', 4, 7)`,
      [clinic.id],
    )
    await counted()
    const before = await stored()
    await service.app.features.stats.rebuild()
    expect(await stored()).toEqual(before)
    await service.database.sql(
      "update stats set count = count + 5 where series not like 'deliveries%'",
    )
    await service.database.sql(
      `insert into stats (tenant_id, series, slot, count)
       values ($1, 'sign_ins', '2020-01-01T00:00Z', 3)`,
      [clinic.id],
    )
    const { entries, rows } = await service.app.features.stats.rebuild()
    expect(await stored()).toEqual(before)
    expect(entries).toBeGreaterThanOrEqual(100)
    expect(rows).toBeGreaterThan(0)
  })

  it('counts entries that the consumer counts before the replacement, in quarters of an hour counted before', async () => {
    await write(5)
    const before = await counted()
    const { db } = service.app
    let rest = 0
    const acrossTenants: typeof db.acrossTenants = async (work, mode) => {
      if (mode !== 'read') {
        rest += 1
        await write(5)
        await countAll(service)
      }
      return db.acrossTenants(work, mode)
    }
    await rebuildCounts({ ...db, acrossTenants })
    expect(rest).toBe(1)
    expect(await counted()).toEqual(plus(before, 5))
  })

  it('counts each entry once while nodes count new entries', async () => {
    const before = await counted()
    startNode()
    let written = 0
    let isDone = false
    const writing = (async () => {
      while (!isDone) {
        await write(5)
        written += 5
      }
    })()
    try {
      for (let round = 0; round < 5; round += 1) await rebuildCounts(service.app.db)
    } finally {
      isDone = true
      await writing
    }
    expect(await counted()).toEqual(plus(before, written))
  })
})
