/**
 * The bot's lease allows one process at a time to run the bot. A process that has lost the lease cannot write its
 * results.
 */
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { claimBotLease, renewBotLease } from '../../src/features/messenger/bot/bot.store.ts'
import { keepBotLease } from '../../src/features/messenger/bot/lease.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { type Tenure, TenureOver } from '../../src/platform/lease/index.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
beforeEach(async () => {
  service = await openService()
})

/** A process that competes for the bot, with a record of what happened to it. */
function candidate(worker: string) {
  const changes = watchChanges(service.database.address, silentLog, service.clock)
  const seen: { tenures: Tenure[]; stops: number } = { tenures: [], stops: 0 }
  const lease = keepBotLease({
    db: service.app.db,
    changes,
    clock: service.clock,
    log: silentLog,
    worker,
    begin(tenure) {
      seen.tenures.push(tenure)
      return {
        idle: async () => undefined,
        stop: async () => {
          seen.stops += 1
        },
      }
    },
  })
  onTestFinished(async () => {
    await lease.stop()
    await changes.stop()
  })
  const holds = () => until(`${worker} is the bot`, () => seen.tenures.at(-1))
  return { seen, lease, holds }
}

const fenced = (tenure: Tenure) => service.app.db.acrossTenants((tx) => tenure.fence(tx))

test('an expired lease of the bot passes to another process, and writes of the former holder fail', async () => {
  const one = candidate('one')
  const first = await one.holds()
  await fenced(first)
  // Uses one transaction, so that no renewal can happen between the statements.
  const epoch = await service.app.db.acrossTenants(async (tx) => {
    expect(await claimBotLease(tx, 'two')).toBeUndefined()
    await sql`update messenger_bot set leased_until = now() - interval '1 ms'`.execute(tx.db)
    return claimBotLease(tx, 'two')
  })
  expect(epoch).toBe(first.epoch + 1)
  await expect(fenced(first)).rejects.toThrow(TenureOver)
  await until('the first one lets go of its work', () => one.seen.stops === 1 || undefined)
  expect([first.over.aborted, first.isSure()]).toEqual([true, false])
})

test('a lease is taken over if its end is later than any valid lease can end', async () => {
  // Simulates the lease of a process that died while the database's clock was wrong.
  const epoch = await service.app.db.acrossTenants(async (tx) => {
    await sql`update messenger_bot set leased_until = now() + interval '1 year'`.execute(tx.db)
    const taken = await claimBotLease(tx, 'three')
    await sql`update messenger_bot set leased_until = now()`.execute(tx.db)
    return taken
  })
  expect(epoch).toEqual(expect.any(Number))
})

test('the lease of a killed process ends within 15 s, with other processes checking every second', async () => {
  await service.app.db.acrossTenants(async (tx) => {
    const lease = async () => {
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from leased_until - now())::float8 as seconds
        from messenger_bot`.execute(tx.db)
      return rows[0]?.seconds
    }
    const epoch = (await claimBotLease(tx, 'one')) as number
    const claimed = await lease()
    await sql`update messenger_bot set leased_until = now()`.execute(tx.db)
    expect(await renewBotLease(tx, epoch)).toBe(true)
    const renewed = await lease()
    expect(claimed).toBeLessThanOrEqual(14)
    expect(renewed).toBeLessThanOrEqual(14)
    expect(Math.min(claimed as number, renewed as number)).toBeGreaterThan(0)
  })
})

test('shutdown releases the lease, and a process that waits for the lease does nothing before', async () => {
  const one = candidate('one')
  const first = await one.holds()
  const two = candidate('two')
  await one.lease.stop()
  const second = await two.holds()
  expect(second.epoch).toBe(first.epoch + 1)
  expect([one.seen.tenures.length, one.seen.stops, two.seen.stops]).toEqual([1, 1, 0])
  await expect(fenced(first)).rejects.toThrow(TenureOver)
})

test('no other process can take the lease while its holder writes results', async () => {
  const one = candidate('one')
  const first = await one.holds()
  await service.app.db.acrossTenants(async (tx) => {
    await first.fence(tx)
    // Waits for the row, which another transaction has locked until it ends.
    await expect(
      service.database.sql("set lock_timeout = '50ms'; update messenger_bot set epoch = epoch + 1"),
    ).rejects.toThrow(/lock timeout/)
  })
})
