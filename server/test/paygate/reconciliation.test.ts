/** Reconciliation finds payments in the provider's list whose notifications were missed, and applies them. */
import { beforeEach, describe, expect, test } from 'vitest'
import { DAY, HOUR } from '../../src/lib/clock.ts'
import { eventually } from '../net/scene.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openPaidClinic, type PaidClinic, type Row, settingsOf, untilRow } from './clinic.ts'

let scene: PaidClinic
let nodes: Service[]

beforeEach(async () => {
  scene = await openPaidClinic()
  nodes = []
})

const position = async (): Promise<Row> =>
  (await scene.service.database.sql<Row>('select * from payment_reconciliations'))[0] ?? {}

/** Opens a node that reconciles. */
async function openNode(): Promise<Service> {
  const config = { ...settingsOf(scene.paygate), PAYGATE_RECONCILE_MINUTES: 60 }
  const { database } = scene.service
  const node = await openService({ background: ['payments'], database, config })
  nodes.push(node)
  return node
}

/** Waits until a run has succeeded after this many attempts. */
const untilRun = (attempts: number) =>
  until('a run has ended', async () => {
    await Promise.all(nodes.map((node) => node.idle('payments')))
    const row = await position()
    return (row.attempts >= attempts && row.leased_until === null) || undefined
  })

/**
 * Moves the runs and leases back by this time. Needed because they use the database's clock, which tests cannot move.
 */
const pass = (time: string) =>
  scene.service.database.sql(
    `update payment_reconciliations set due_at = due_at - interval '${time}',
       leased_until = leased_until - interval '${time}'`,
  )

/** Returns the requests for lists, each as `since` and `cursor`. */
const lists = () =>
  scene.paygate.asked
    .map(({ path }) => new URL(path, 'http://x'))
    .filter(({ pathname }) => pathname === '/payments')
    .map(({ searchParams }) => ({
      since: Date.parse(searchParams.get('created_at.gte') ?? ''),
      limit: searchParams.get('limit'),
      cursor: searchParams.get('cursor'),
    }))

describe('reconciliation on startup', () => {
  test('applies missed payments page by page, and ignores payments of other systems', async () => {
    for (let index = 0; index < 230; index += 1) scene.pay(`p${index}`)
    scene.paygate.put({ id: 'foreign' })
    scene.paygate.put({ id: 'unknown', metadata: { tenant_id: 999_999 } })
    scene.pay('odd', { amount: { value: '0.001', currency: 'EUR' } })
    await openNode()
    await untilRun(1)
    expect(await scene.payments()).toHaveLength(230)
    expect(await scene.entries()).toHaveLength(230)
    expect(lists().map(({ limit, cursor }) => [limit, cursor])).toEqual([
      ['100', null],
      ['100', '100'],
      ['100', '200'],
    ])
  })

  test('changes nothing in a second run, and publishes no event for known payments', async () => {
    await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
    await until('it is applied', async () => (await scene.payments()).length === 1 || undefined)
    const before = [await scene.payments(), await scene.entries()]
    await openNode()
    await untilRun(1)
    await (await openNode()).close()
    await openNode()
    await untilRun(2)
    expect([await scene.payments(), await scene.entries()]).toEqual(before)
  })

  test('covers a week in the first run, and starts later runs an hour before the last successful run', async () => {
    const first = await openNode()
    await untilRun(1)
    await first.close()
    const { reconciled_to } = await position()
    expect(Date.parse(reconciled_to) - (lists()[0]?.since ?? 0)).toBe(7 * DAY)
    await openNode()
    await untilRun(2)
    expect(lists()[1]?.since).toBe(Date.parse(reconciled_to) - HOUR)
  })
})

describe('a reconciliation run that does not complete', () => {
  test.each([
    ['the API fails', { status: 500 }],
    ['the credentials are refused', { status: 401 }],
    ['the API answers with HTML', { status: 200, body: '<html>' }],
    ['the API answers without items', { status: 200, body: '{"next_cursor":"2"}' }],
    [
      'the API answers with the same page forever',
      { status: 200, body: '{"items":[],"next_cursor":"2"}' },
    ],
    ['the ID of an item is not text', { status: 200, body: '{"items":[{"id":7}]}' }],
    ['the cursor is not text', { status: 200, body: '{"items":[],"next_cursor":2}' }],
  ])('keeps its position if %s, and is retried after a minute', async (_why, misbehaviour) => {
    scene.pay('p1')
    scene.paygate.misbehave(() => misbehaviour)
    await openNode()
    await untilRun(1)
    expect(await position()).toMatchObject({ reconciled_to: null, failures: 1 })
    scene.paygate.misbehave(undefined)
    await pass('1 minute')
    await untilRun(2)
    expect(await position()).toMatchObject({ reconciled_to: expect.any(String), failures: 0 })
    expect(await scene.payments()).toHaveLength(1)
  })

  test('is ended if its page cursors form a loop, and keeps its position', async () => {
    const next: Record<string, string> = { none: 'a', a: 'b', b: 'c', c: 'a' }
    scene.paygate.misbehave(({ path }) => {
      const cursor = new URL(path, 'http://x').searchParams.get('cursor') ?? 'none'
      return { status: 200, body: JSON.stringify({ items: [], next_cursor: next[cursor] }) }
    })
    await openNode()
    await untilRun(1)
    expect(lists().map(({ cursor }) => cursor)).toEqual([null, 'a', 'b', 'c'])
    expect(await position()).toMatchObject({ reconciled_to: null, failures: 1 })
  })

  test('keeps the payments it applied before it was interrupted', async () => {
    for (let index = 0; index < 150; index += 1) scene.pay(`p${index}`)
    scene.paygate.misbehave(({ path }) => (path.includes('cursor=') ? 'reset' : undefined))
    await openNode()
    await untilRun(1)
    expect(await scene.payments()).toHaveLength(100)
    expect(await position()).toMatchObject({ reconciled_to: null, failures: 1 })
  })
})

test('an unusable payment is stored in the inbox with a reason, logged once, and blocks no other payment', async () => {
  scene.pay('p1')
  scene.pay('p2', { currency: 'EUR', amount: { value: '0.001', currency: 'EUR' } })
  scene.paygate.put({ id: 'foreign' })
  scene.paygate.put({ id: 'unknown', metadata: { tenant_id: 999_999 } })
  scene.pay('held', { status: 'on_hold' as 'pending' })
  const node = await openNode()
  await untilRun(1)
  const failed = await until('all have failed', async () => {
    const rows = await scene.rows()
    return rows.length === 4 && rows.every(({ state }) => state === 'failed') ? rows : undefined
  })
  const reasons = failed.map(({ provider_payment_id, reason }) => [provider_payment_id, reason])
  expect(reasons.toSorted()).toEqual([
    ['foreign', 'tenant_unreadable'],
    ['held', 'unreadable'],
    ['p2', 'amount_unreadable'],
    ['unknown', 'unknown_tenant'],
  ])
  expect(await scene.payments()).toMatchObject([{ provider_payment_id: 'p1' }])
  expect(await position()).toMatchObject({ reconciled_to: expect.any(String), failures: 0 })
  const said = node.logged.filter(
    ([, , what]) => what === 'payments in a provider list are not usable',
  )
  expect(said).toMatchObject([
    [
      'warn',
      { counts: { amount_unreadable: 1, tenant_unreadable: 1, unknown_tenant: 1, unreadable: 1 } },
      expect.anything(),
    ],
  ])
  await until('the health report says so', async () => {
    return (await scene.health()).payments === 'degraded' || undefined
  })
  // Once the payment is corrected, it is applied automatically or by an operator.
  scene.pay('p2', { amount: { value: '1.00', currency: 'EUR' } })
  const [odd] = failed.filter(({ provider_payment_id }) => provider_payment_id === 'p2')
  const path = `/api/admin/payment-notifications/${odd?.id}/process`
  const tried = await scene.service.call('POST', path, { token: scene.root.token })
  expect(tried.status).toBe(200)
  await until('it is applied', async () => (await scene.payments()).length === 2 || undefined)
})

test('a payment that became unusable fails, even if an earlier notification of that payment was applied', async () => {
  const pending = scene.pay('p1', { status: 'pending' })
  await scene.send(scene.paygate.noticeOf('payment.pending', pending))
  await untilRow(scene, { state: 'applied' })
  scene.pay('p1', { status: 'on_hold' as 'pending' })
  await openNode()
  await untilRun(1)
  await until('it has failed', async () => (await scene.rows())[1]?.state === 'failed' || undefined)
  expect(await scene.rows()).toMatchObject([
    { state: 'applied', times_received: 1 },
    { state: 'failed', reason: 'unreadable', provider_payment_id: 'p1' },
  ])
})

describe('a wrong clock during reconciliation', () => {
  const sql = (text: string) => scene.service.database.sql(text)

  test('hides no payments of the time in which it was ahead of the database', async () => {
    const node = await openNode()
    await untilRun(1)
    node.clock.advance(3 * HOUR)
    await pass('1 hour')
    await untilRun(2)
    await node.close()
    expect(
      await sql('select from payment_reconciliations where reconciled_to < now()'),
    ).toHaveLength(1)
    scene.pay('missed')
    await openNode()
    await untilRun(3)
    expect(await scene.payments()).toMatchObject([{ provider_payment_id: 'missed' }])
  })

  test('makes the next run read a week again if it stored a position in the future', async () => {
    const node = await openNode()
    await untilRun(1)
    await node.close()
    await sql("update payment_reconciliations set reconciled_to = now() + interval '3 hours'")
    await openNode()
    await untilRun(2)
    const { reconciled_to } = await position()
    expect(lists()[1]?.since).toBe(Date.parse(reconciled_to) - 7 * DAY)
  })

  test.each([
    ['due', "due_at = now() + interval '5 hours'"],
    ['leased', "due_at = now(), leased_until = now() + interval '5 hours'"],
  ])('does not delay a run that it left %s in some hours', async (_how, left) => {
    await openNode()
    await untilRun(1)
    await sql(`update payment_reconciliations set ${left}`)
    await untilRun(2)
  })
})

describe('only one of several nodes', () => {
  test('runs the reconciliation; another node takes over after its lease, and the first one cannot end that run', async () => {
    scene.pay('p1')
    scene.paygate.misbehave((_asked, index) => (index === 0 ? 'stall' : undefined))
    await openNode()
    await eventually('the first asks', () => lists().length === 1)
    await openNode()
    await pass('3 minutes')
    await until('the second has ended', async () => {
      const row = await position()
      return (row.attempts === 2 && row.leased_until === null) || undefined
    })
    const ended = await position()
    expect(ended).toMatchObject({ reconciled_to: expect.any(String), failures: 0 })
    scene.paygate.goOn()
    await eventually('nothing is open', () => scene.paygate.open() === 0)
    expect(await position()).toEqual(ended)
    expect(await scene.entries()).toHaveLength(1)
  })
})

test('reconciliation is disabled by an interval of 0', async () => {
  await scene.send(scene.paygate.noticeOf('payment.succeeded', scene.pay('p1')))
  await until('the work has begun', async () => (await scene.payments()).length === 1 || undefined)
  expect(lists()).toEqual([])
  expect(await position()).toEqual({})
})
