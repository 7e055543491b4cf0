/** The state of a replay: one replay at a time per webhook, its job, its progress and its cancellation. */
import { beforeAll, describe, expect, test } from 'vitest'
import { insertDeliveries } from '../../src/features/webhooks/engine/fan-out.store.ts'
import { cancelReplay, runReplay } from '../../src/features/webhooks/replays/replays.service.ts'
import { listReplays } from '../../src/features/webhooks/replays/replays.store.ts'
import { HOUR } from '../../src/lib/clock.ts'
import { openClinic, type WebhookClinic } from './clinic.ts'

let at: WebhookClinic

beforeAll(async () => {
  at = await openClinic()
})

const { signal } = new AbortController()
const since = () => new Date(at.service.clock.now() - HOUR).toISOString()
const order = (id: number) => at.call('POST', `/${id}/replay`, { body: { since: since() } })
const shown = async (id: number, replay: number) =>
  (await at.call('GET', `/${id}/replays/${replay}`)).body
const cancel = (id: number, replay: number) => at.call('DELETE', `/${id}/replays/${replay}`)

const deps = () => ({ db: at.service.app.db, clock: at.service.clock })
const tenant_id = () => at.clinic.id
const run = (id: number) => runReplay(deps(), { id, tenant_id: tenant_id() }, signal)
/** Runs the cleanup job that a cancelled replay has queued. */
const carryOut = (webhook_id: number, id: number) =>
  cancelReplay(deps(), { id, webhook_id, tenant_id: tenant_id() }, signal)

const sql = <T extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  at.service.database.sql<T>(text, values)

const deliveriesOf = (id: number) =>
  sql<Record<string, any>>(
    `select entry_id, status, attempts, due_at, replay_id from webhook_deliveries
     where webhook_id = $1 order by entry_id`,
    [id],
  )

/** Completes the first delivery after one attempt, with this status. */
async function settle(id: number, status: 'delivered' | 'failed', entry: number): Promise<void> {
  await sql(
    `update webhook_deliveries set status = $1, attempts = 1, retry_step = 1, due_at = null,
       finished_at = now() where webhook_id = $2 and entry_id = $3`,
    [status, id, entry],
  )
  await sql(
    `insert into webhook_attempts (tenant_id, webhook_id, entry_id, event_at, number, started_at,
       duration_ms, status_code, error)
     select tenant_id, webhook_id, entry_id, event_at, 1, now(), 1, 200, $1
     from webhook_deliveries where webhook_id = $2 and entry_id = $3`,
    [status === 'delivered' ? null : 'status', id, entry],
  )
}

test('only one of several concurrent replays of a webhook is accepted, and the other requests get its ID', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const answers = await Promise.all(Array.from({ length: 12 }, () => order(id)))
  const taken = answers.filter(({ status }) => status === 202)
  expect(taken).toHaveLength(1)
  for (const { status, body } of answers.filter((answer) => answer !== taken[0])) {
    expect([status, body.code]).toEqual([409, 'replay_running'])
    expect(body.detail).toContain(`Replay ${taken[0]?.body.id} of this webhook`)
  }
  expect(await sql('select 1 from webhook_replays where webhook_id = $1', [id])).toHaveLength(1)
  // A replay of another webhook is independent. The next replay of this webhook can start once the current one has
  // ended.
  const other = await at.register({ events: ['user.created'] })
  expect((await order(other.id)).status).toBe(202)
  await run(taken[0]?.body.id)
  expect((await order(id)).status).toBe(202)
})

test('the status of a replay counts its deliveries by state', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const { body } = await order(id)
  await run(body.id)
  const [first, second] = await deliveriesOf(id)
  await settle(id, 'delivered', first?.entry_id)
  await settle(id, 'failed', second?.entry_id)
  expect(await shown(id, body.id)).toMatchObject({
    state: 'completed',
    found: 5,
    waiting: 3,
    delivered: 1,
    failed: 1,
  })
})

test('the list counts the deliveries of each replay up to a limit', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const { body } = await order(id)
  await run(body.id)
  const counted = (limit?: number) =>
    at.service.app.db.inTenant(tenant_id(), (tx) => listReplays(tx, id, limit), 'read')
  expect(await counted(2)).toMatchObject([{ id: body.id, found: 5, waiting: 2 }])
  expect(await counted()).toMatchObject([{ id: body.id, found: 5, waiting: 5 }])
})

test('a replay that is cancelled while it runs queues nothing more', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const { body } = await order(id)
  expect((await cancel(id, body.id)).status).toBe(204)
  await run(body.id)
  expect(await deliveriesOf(id)).toEqual([])
  expect(await shown(id, body.id)).toMatchObject({
    state: 'cancelled',
    found: 0,
    finished_at: expect.any(String),
  })
  expect((await at.entriesOf(id)).at(-1)).toMatchObject({
    action: 'webhook.replay_cancelled',
    changes: { replay_id: body.id },
  })
  expect((await order(id)).status).toBe(202)
})

test('a cancelled replay restores waiting deliveries to their earlier state', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const first = await order(id)
  await run(first.body.id)
  const [delivered, failed, waiting, untried, sent] = await deliveriesOf(id)
  await settle(id, 'delivered', delivered?.entry_id)
  await settle(id, 'failed', failed?.entry_id)
  // Changes two deliveries: one waits for its second attempt without a replay, and one did not exist before the replay.
  await sql(
    `update webhook_deliveries set replay_id = null, due_at = '2099-01-01', attempts = 1
     where webhook_id = $1 and entry_id = $2`,
    [id, waiting?.entry_id],
  )
  const drop = 'delete from webhook_deliveries where webhook_id = $1 and entry_id = any($2)'
  await sql(drop, [id, [untried?.entry_id, sent?.entry_id]])
  const second = await order(id)
  await run(second.body.id)
  expect(await shown(id, second.body.id)).toMatchObject({ found: 5, waiting: 4 })
  await settle(id, 'delivered', sent?.entry_id)
  expect((await cancel(id, second.body.id)).status).toBe(204)
  await carryOut(id, second.body.id)
  expect(await deliveriesOf(id)).toMatchObject([
    { entry_id: delivered?.entry_id, status: 'delivered', attempts: 1, due_at: null },
    { entry_id: failed?.entry_id, status: 'failed', attempts: 1, due_at: null },
    { entry_id: waiting?.entry_id, status: 'pending', due_at: expect.not.stringMatching(/^2099/) },
    { entry_id: sent?.entry_id, status: 'delivered' },
  ])
  expect(await shown(id, second.body.id)).toMatchObject({
    state: 'cancelled',
    waiting: 0,
    delivered: 1,
  })
  // The replay has already ended, so it cannot be cancelled.
  const again = await cancel(id, second.body.id)
  expect([again.status, again.body.code]).toEqual([409, 'replay_over'])
})

test('an event that the fan-out reads after a replay was cancelled is still delivered', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const [row] = await sql<{ id: number; created_at: string }>(
    `update webhooks set created_at = now() - interval '1 day' where id = $1
     returning id, created_at`,
    [id],
  )
  expect(row?.id).toBe(id)
  const { body } = await order(id)
  await run(body.id)
  const [event] = await sql<{ id: number; created_at: string }>(
    "select id, created_at from journal where tenant_id = $1 and action = 'user.created' limit 1",
    [tenant_id()],
  )
  if (!event) throw new Error('there is one')
  await at.service.app.db.acrossTenants(async (tx) =>
    insertDeliveries(
      tx,
      [{ ...event, tenant_id: tenant_id(), action: 'user.created' }],
      [id],
      new Date(at.service.clock.now()).toISOString(),
    ),
  )
  await cancel(id, body.id)
  await carryOut(id, body.id)
  expect(await deliveriesOf(id)).toMatchObject([{ entry_id: event.id, status: 'pending' }])
})

test('cancelling a replay keeps deliveries that a later replay has queued', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const first = await order(id)
  await run(first.body.id)
  await cancel(id, first.body.id)
  const second = await order(id)
  await run(second.body.id)
  await carryOut(id, first.body.id)
  expect(await deliveriesOf(id)).toHaveLength(5)
  expect(await shown(id, second.body.id)).toMatchObject({ waiting: 5 })
})

test('a cancelled replay whose job finally failed is cleaned up the next night', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const { body } = await order(id)
  await run(body.id)
  await cancel(id, body.id)
  await sql("delete from pgboss.job where name = 'webhooks.cancel-replay'")
  await at.service.app.features.webhooks.services.replays.tidy()
  const jobs = () =>
    sql(
      "select 1 from pgboss.job where name = 'webhooks.cancel-replay' and (data ->> 'id')::int = $1",
      [body.id],
    )
  expect(await jobs()).toHaveLength(1)
  await carryOut(id, body.id)
  await sql("delete from pgboss.job where name = 'webhooks.cancel-replay'")
  await at.service.app.features.webhooks.services.replays.tidy()
  expect(await jobs()).toEqual([])
})

test('the upkeep deletes old replays, and first marks one that never ended as failed', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const over = await order(id)
  await run(over.body.id)
  const endless = await order(id)
  await sql(
    "update webhook_replays set created_at = now() - interval '31 days' where webhook_id = $1",
    [id],
  )
  const { tidy } = at.service.app.features.webhooks.services.replays
  await tidy()
  expect((await at.call('GET', `/${id}/replays/${over.body.id}`)).status).toBe(404)
  expect(await shown(id, endless.body.id)).toMatchObject({ state: 'failed' })
  expect((await order(id)).status).toBe(202)
  await tidy()
  expect((await at.call('GET', `/${id}/replays/${endless.body.id}`)).status).toBe(404)
})

test('a replay can be read and cancelled only under its own webhook', async () => {
  const { id } = await at.register({ events: ['user.created'] })
  const other = await at.register({ events: ['user.created'] })
  const { body } = await order(id)
  for (const method of ['GET', 'DELETE'])
    for (const path of [`/${other.id}/replays/${body.id}`, `/${id}/replays/999999`])
      expect((await at.call(method, path)).status).toBe(404)
  expect(await shown(id, body.id)).toMatchObject({ state: 'running' })
})

describe('the job of a replay', () => {
  test('is queued in the transaction of the request', async () => {
    const { id } = await at.register()
    await order(id)
    const jobs = await sql(
      `select j.data from pgboss.job j join webhook_replays r on r.id::text = j.data ->> 'id'
       where j.name = 'webhooks.replay' and r.webhook_id = $1`,
      [id],
    )
    expect(jobs).toHaveLength(1)
  })

  test('is queued again for an abandoned replay, only once', async () => {
    await sql("delete from pgboss.job where name = 'webhooks.replay'")
    const { replays } = at.service.app.features.webhooks.services
    await replays.tidy()
    await replays.tidy()
    const [left] = await sql<{ count: number }>(
      "select count(*) as count from webhook_replays where state = 'running'",
    )
    expect(left?.count).toBeGreaterThan(0)
    expect(await sql("select 1 from pgboss.job where name = 'webhooks.replay'")).toHaveLength(
      left?.count ?? 0,
    )
  })
})
