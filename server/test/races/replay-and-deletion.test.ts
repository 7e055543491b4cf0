/** A webhook that is deleted during a batch of its replay. One transaction waits for the other, without a deadlock. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { runReplay } from '../../src/features/webhooks/replays/replays.service.ts'
import { HOUR } from '../../src/lib/clock.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openClinic } from '../webhooks/clinic.ts'

const { signal } = new AbortController()

/** Locks the queue of a webhook. The test then controls the order in which transactions wait for the lock. */
async function holdQueue({ database }: Service, webhookId: number) {
  const other = new pg.Client({ connectionString: database.url })
  await other.connect()
  await other.query('begin')
  await other.query('select from webhook_queues where webhook_id = $1 for update', [webhookId])
  return () => other.end()
}

/** Waits until this many transactions wait for a lock. */
function untilWaiting({ database }: Service, count: number): Promise<unknown> {
  return until(`${count} wait for a lock`, async () => {
    const waiting = await database.sql(
      `select pid from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length >= count || undefined
  })
}

test.each(['the deletion', 'the batch'])(
  'a batch of a replay and the deletion of its webhook cause no deadlock if %s comes first',
  async (first) => {
    const at = await openClinic()
    const { service, clinic } = at
    const { id } = await at.register({ events: ['user.created'] })
    const since = new Date(service.clock.now() - HOUR).toISOString()
    const replay = (await at.call('POST', `/${id}/replay`, { body: { since } })).body
    const release = await holdQueue(service, id)
    const remove = () => at.call('DELETE', `/${id}`)
    const run = () =>
      runReplay(
        { db: service.app.db, clock: service.clock },
        { id: replay.id, tenant_id: clinic.id },
        signal,
      )
    const commands = first === 'the deletion' ? [remove, run] : [run, remove]
    const ends: Promise<unknown>[] = []
    for (const command of commands) {
      ends.push(command())
      await untilWaiting(service, ends.length)
    }
    await release()
    const [one, other] = await Promise.all(ends)
    expect(first === 'the deletion' ? one : other).toMatchObject({ status: 204 })
    expect(await service.database.sql('select id from webhook_replays')).toEqual([])
    // PostgreSQL records the failures of the connections by the time they are closed.
    await service.close()
    const [met] = await service.database.sql<{ deadlocks: number }>(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    )
    expect(met?.deadlocks).toBe(0)
  },
)
