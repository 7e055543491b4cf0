/**
 * Kills the service with SIGKILL around each of its commits. A payment whose notification was answered with 200 is
 * applied exactly once.
 */
import { describe, expect, test } from 'vitest'
import { emptyDatabase } from '../support/database.ts'
import { holdUp } from '../support/paused-writes.ts'
import { CARDNET_SECRET, cardnetNotice, cardnetSignature } from '../support/payments.ts'
import { PLAIN, type RunningService, startService } from '../support/process.ts'
import { scratch } from '../support/scratch.ts'
import { until } from '../support/until.ts'

async function stage() {
  const database = await emptyDatabase()
  const env = {
    ...PLAIN,
    DATABASE_URL: database.url,
    DATA_DIR: await scratch(),
    CARDNET_WEBHOOK_SECRET: CARDNET_SECRET,
    LOG_LEVEL: 'error',
  }
  const start = () => startService(env)
  const service = await start()
  const [tenant] = await database.sql<{ id: number }>('select id from tenants where is_platform')
  const told = cardnetNotice('succeeded', { id: 'pay_1', metadata: { tenant_id: tenant?.id } })
  const send = (to: RunningService) => {
    const body = JSON.stringify(told)
    return fetch(`${to.address}/webhooks/cardnet`, {
      method: 'POST',
      headers: { 'cardnet-signature': cardnetSignature(body) },
      body,
    }).then(({ status }) => status)
  }
  const kill = async (victim: RunningService) => {
    victim.signal('SIGKILL')
    await victim.ended
  }
  const inbox = () =>
    database.sql<{ state: string; times_received: number }>(
      'select state, times_received from payment_notifications',
    )
  const untilApplied = () =>
    until(
      'the notice is applied',
      async () => (await inbox()).some(({ state }) => state === 'applied') || undefined,
    )
  const counted = async () => ({
    payments: await database.sql('select status, amount from payments'),
    entries: await database.sql("select action from journal where action like 'payment.%'"),
  })
  return { database, service, start, send, kill, inbox, untilApplied, counted }
}

const ONCE = {
  payments: [{ status: 'succeeded', amount: 1000 }],
  entries: [{ action: 'payment.succeeded' }],
}

describe('a service that is killed while it handles a payment notification', () => {
  test.each([
    [
      'sends no response and stores nothing if it is killed before the notification is committed',
      'before',
      0,
    ],
    [
      'keeps the unanswered notification if it is killed after the notification is committed',
      'behind',
      1,
    ],
  ] as const)('%s', async (_what, moment, kept) => {
    const { database, service, start, send, kill, inbox, untilApplied, counted } = await stage()
    const held = await holdUp(database, { table: 'payment_notifications', moment })
    const answer = send(service).catch(() => 'no answer')
    await held.met()
    await kill(service)
    await held.release()
    expect(await answer).toBe('no answer')
    expect(await inbox()).toHaveLength(kept)
    // The provider got no response, so it sends the notification again.
    const next = await start()
    expect(await send(next)).toBe(200)
    await untilApplied()
    expect(await inbox()).toEqual([{ state: 'applied', times_received: kept + 1 }])
    expect(await counted()).toEqual(ONCE)
  })

  test.each([
    [
      'leaves the payment to the next node if it is killed before the payment is committed',
      'before',
      'received',
    ],
    [
      'applies the payment only once if it is killed after the payment is committed',
      'behind',
      'applied',
    ],
  ] as const)('%s', async (_what, moment, state) => {
    const { database, service, start, send, kill, inbox, untilApplied, counted } = await stage()
    const held = await holdUp(database, { table: 'payments', moment })
    expect(await send(service)).toBe(200)
    await held.met()
    await kill(service)
    await held.release()
    expect(await inbox()).toEqual([{ state, times_received: 1 }])
    // Lets the lease of the dead process expire.
    await database.sql(
      "update payment_notifications set leased_until = now() where state = 'received'",
    )
    const next = await start()
    await untilApplied()
    expect(await send(next)).toBe(200)
    expect(await inbox()).toEqual([{ state: 'applied', times_received: 2 }])
    expect(await counted()).toEqual(ONCE)
  })
})

test('a payment is applied once if the database restarts in between, without a restart of the service', async () => {
  const { database, service, send, inbox, untilApplied, counted } = await stage()
  const held = await holdUp(database, { table: 'payments', moment: 'before' })
  expect(await send(service)).toBe(200)
  await held.met()
  // Ends every connection, as a database restart does, even if work is in progress.
  await database.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  )
  await held.release()
  await untilApplied()
  expect(await inbox()).toEqual([{ state: 'applied', times_received: 1 }])
  expect(await counted()).toEqual(ONCE)
})
