/** Schedules in the database: each occurrence runs once, regardless of the number of nodes. */
import { expect, it } from 'vitest'
import { jobKind } from '../../src/platform/jobs/index.ts'
import { migratedDatabase } from '../support/database.ts'
import { openNode } from '../support/jobs.ts'
import { until } from '../support/until.ts'

/** Returns a daily cron expression for the time `minutes` from now. */
function dailyAt(minutes: number): string {
  const time = new Date(Date.now() + minutes * 60_000)
  return `${time.getUTCMinutes()} ${time.getUTCHours()} * * *`
}

it('a schedule runs a missed job once, even with two nodes', async () => {
  const database = await migratedDatabase()
  const missed = jobKind<Record<string, never>>('missed')
  const later = jobKind<Record<string, never>>('later')
  const runs: string[] = []
  const start = async () => {
    const node = openNode(database)
    for (const kind of [missed, later])
      node.jobs.work(kind, async () => void runs.push(kind.name), { pollSeconds: 0.05 })
    node.jobs.schedule(missed, dailyAt(-30))
    node.jobs.schedule(later, dailyAt(+30))
    await node.jobs.start()
    return node
  }
  const before = await start()
  await before.stop()
  expect(runs).toEqual([])
  // Simulates that both nodes were stopped for an hour.
  await database.sql(`update pgboss.version set cron_on = now() - interval '1 hour'`)
  await database.sql(`update pgboss.schedule set created_on = now() - interval '2 hours'`)

  const nodes = [await start(), await start()]
  await until('the missed one has run', () => (runs.length > 0 ? true : undefined))
  // Waits for two more polls of the schedules. They must enqueue nothing.
  for (let look = 0; look < 2; look += 1) {
    const [last] = await database.sql(`select cron_on::text from pgboss.version`)
    await until('the schedules are looked at again', async () => {
      const [now] = await database.sql(
        `select cron_on::text from pgboss.version
         where not exists (select from pgboss.job where state < 'completed')`,
      )
      return now && now.cron_on !== last?.cron_on ? true : undefined
    })
  }
  expect(runs).toEqual(['missed'])
  for (const node of nodes) expect(node.logged.filter(([level]) => level !== 'info')).toEqual([])
})

it('a schedule is stored once per name, with its newest cron expression', async () => {
  const database = await migratedDatabase()
  const kind = jobKind<Record<string, never>>('kept')
  for (const cron of ['0 3 * * *', '0 3 * * *', '30 4 * * 0']) {
    const node = openNode(database)
    node.jobs.work(kind, async () => undefined)
    node.jobs.schedule(kind, cron)
    await node.jobs.start()
    await node.stop()
  }
  expect(await database.sql('select name, cron, timezone from pgboss.schedule')).toEqual([
    { name: 'kept', cron: '30 4 * * 0', timezone: 'UTC' },
  ])
})
