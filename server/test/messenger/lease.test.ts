/** Who is the bot: one process at a time, and none that was writes what it has done. */
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { claim, renew } from '../../src/features/messenger/bot/bot.store.ts'
import { keepLease, type Tenure, TenureOver } from '../../src/features/messenger/bot/lease.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: Service
beforeEach(async () => {
  service = await openService()
})

/** A process that would be the bot, and what has happened to it. */
function candidate(worker: string) {
  const changes = watchChanges(service.database.address, silentLog, service.clock)
  const seen: { tenures: Tenure[]; stops: number } = { tenures: [], stops: 0 }
  const lease = keepLease({
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

test('a lease that has run out goes to another process, and fences the first one off', async () => {
  const one = candidate('one')
  const first = await one.holds()
  await fenced(first)
  // In one transaction, so that no renewal is between.
  const epoch = await service.app.db.acrossTenants(async (tx) => {
    expect(await claim(tx, 'two')).toBeUndefined()
    await sql`update messenger_bot set leased_until = now() - interval '1 ms'`.execute(tx.db)
    return claim(tx, 'two')
  })
  expect(epoch).toBe(first.epoch + 1)
  await expect(fenced(first)).rejects.toThrow(TenureOver)
  await until('the first one lets go of its work', () => one.seen.stops === 1 || undefined)
  expect([first.over.aborted, first.isSure()]).toEqual([true, false])
})

test('what a killed process leaves is free within 15 s, of which the others look each second', async () => {
  await service.app.db.acrossTenants(async (tx) => {
    const lease = async () => {
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from leased_until - now())::float8 as seconds
        from messenger_bot`.execute(tx.db)
      return rows[0]?.seconds
    }
    const epoch = (await claim(tx, 'one')) as number
    const claimed = await lease()
    await sql`update messenger_bot set leased_until = now()`.execute(tx.db)
    expect(await renew(tx, epoch)).toBe(true)
    const renewed = await lease()
    expect(claimed).toBeLessThanOrEqual(14)
    expect(renewed).toBeLessThanOrEqual(14)
    expect(Math.min(claimed as number, renewed as number)).toBeGreaterThan(0)
  })
})

test('one that stops hands it over, and one that waits does nothing', async () => {
  const one = candidate('one')
  const first = await one.holds()
  const two = candidate('two')
  await one.lease.stop()
  const second = await two.holds()
  expect(second.epoch).toBe(first.epoch + 1)
  expect([one.seen.tenures.length, one.seen.stops, two.seen.stops]).toEqual([1, 1, 0])
  await expect(fenced(first)).rejects.toThrow(TenureOver)
})

test('whoever writes what the bot has done keeps the others from taking it over until then', async () => {
  const one = candidate('one')
  const first = await one.holds()
  await service.app.db.acrossTenants(async (tx) => {
    await first.fence(tx)
    // Waits for the row, which is held until the transaction ends.
    await expect(
      service.database.sql("set lock_timeout = '50ms'; update messenger_bot set epoch = epoch + 1"),
    ).rejects.toThrow(/lock timeout/)
  })
})
