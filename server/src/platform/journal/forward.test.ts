/** Tests forwarders of the journal: leases, positions, and what they send again after a failure. */
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { scopesOf } from '../../../test/sessions/scopes.ts'
import { migratedDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../../test/support/server-address.ts'
import { frozenClock, type MovableClock, movableClock } from '../../../test/support/time.ts'
import { until } from '../../../test/support/until.ts'
import { ownerClient } from '../db/connection.ts'
import { type Changes, type Scopes, watchChanges } from '../db/index.ts'
import { append, SYSTEM } from './append.ts'
import { type ForwardOptions, forward, ReceiverFault } from './forward.ts'
import type { NumberedEntry, Receiver } from './index.ts'

let database: TestDatabase
let db: Scopes
let changes: Changes
let clock: MovableClock
let made = 0
let name: string

beforeAll(async () => {
  database = await migratedDatabase()
  db = scopesOf(database)
})

beforeEach(() => {
  made += 1
  name = `forwarder-${made}`
  clock = movableClock()
  changes = watchChanges(database.address, silentLog, clock)
  onTestFinished(() => changes.stop())
})

const write = (...words: (string | number)[]) =>
  db.acrossTenants(async (tx) => {
    for (const word of words)
      await append(tx, SYSTEM, {
        action: 'tenant.updated',
        tenant_id: null,
        resource_type: name,
        resource_id: word,
      })
  })

/** Writes an entry that records an access, which other consumers skip. */
const read = (word: string) =>
  database.sql(
    `insert into journal (is_access, action, resource_type, resource_id) values (true, 'patient.read', $1, $2)`,
    [name, word],
  )

/** A receiver that remembers the entries, and confirms them when the test says so. */
function openReceiver() {
  const seen = { entries: [] as NumberedEntry[], opened: 0 }
  let fault: ReceiverFault | undefined
  let isConfirming = true
  let sent: NumberedEntry | undefined
  const open = (): Receiver => {
    seen.opened += 1
    return {
      async send(entries) {
        if (fault) throw fault
        seen.entries.push(...entries.filter(({ resource_type }) => resource_type === name))
        sent = entries.at(-1)
      },
      async confirmed() {
        if (fault) throw fault
        const confirmed = isConfirming ? sent : undefined
        if (confirmed) sent = undefined
        return confirmed
      },
      close: async () => undefined,
    }
  }
  return {
    open,
    seen,
    words: () => seen.entries.map(({ resource_id }) => resource_id),
    fail: (next: ReceiverFault | undefined) => {
      fault = next
    },
    confirm: (next: boolean) => {
      isConfirming = next
    },
  }
}

type TestReceiver = ReturnType<typeof openReceiver>

function start(receiver: TestReceiver, options: Partial<ForwardOptions> = {}) {
  const forwarder = forward(
    { db, changes, clock, log: silentLog },
    {
      name,
      title: name,
      includesAccesses: true,
      since: 'now',
      open: receiver.open,
      onFailure: () => undefined,
      ...options,
    },
  )
  onTestFinished(() => forwarder.stop())
  return forwarder
}

const rowOf = async () =>
  (
    await database.sql<{
      id: number
      sequence: number
      epoch: number
      failing_since: string | null
      error: string | null
    }>(
      'select id, sequence, epoch, failing_since, error from journal_consumers where consumer = $1',
      [name],
    )
  )[0]

const leased = () =>
  until('the forwarder has its lease', async () => (await rowOf())?.epoch || undefined)

const heard = (receiver: TestReceiver, count: number) =>
  until(`${count} entries arrive`, () => receiver.seen.entries.length >= count || undefined)

const saved = (sequence: number) =>
  until('the position is saved', async () => (await rowOf())?.sequence === sequence || undefined)

/** Waits until no transaction is running that is older than the entries, not even in another database of the server. */
const settled = () =>
  until('the entries are older than every running transaction', async () => {
    const running = await database.sql(
      `select from journal where resource_type = $1 and xid >= pg_snapshot_xmin(pg_current_snapshot())`,
      [name],
    )
    return running.length === 0 || undefined
  })

describe('a new forwarder', () => {
  test('that begins now sends no older entry, but every entry of a transaction that was still running', async () => {
    await write('old')
    await settled()
    const client = ownerClient(database.address)
    await client.connect()
    onTestFinished(() => client.end())
    await client.query('begin')
    await client.query(
      `insert into journal (action, resource_type, resource_id) values ('tenant.updated', $1, 'running')`,
      [name],
    )
    const receiver = openReceiver()
    start(receiver)
    await leased()
    await client.query('commit')
    await write('new')
    await heard(receiver, 2)
    expect(receiver.words()).toEqual(['running', 'new'])
  })

  test('that begins at the start sends every entry, with accesses, numbered in their order', async () => {
    await write(1, 2)
    await read('3')
    await write(4)
    const receiver = openReceiver()
    start(receiver, { since: 'start', batch: 3 })
    await heard(receiver, 4)
    expect(receiver.words()).toEqual(['1', '2', '3', '4'])
    const [first = 0, ...others] = receiver.seen.entries.map(({ sequence }) => sequence)
    expect(others).toEqual([first + 1, first + 2, first + 3])
    const [total] = await database.sql<{ count: number }>('select count(*) from journal')
    expect(first + 3).toBe(total?.count)
  })

  test('that begins at a date sends the entries since then', async () => {
    await write('before')
    const [before] = await database.sql<{ at: string }>(
      `select (max(created_at) + interval '1 ms')::text as at from journal`,
    )
    await until('a millisecond has passed', async () => {
      const rows = await database.sql('select where now() > $1::timestamptz', [before?.at])
      return rows.length > 0 || undefined
    })
    await write('after')
    const receiver = openReceiver()
    start(receiver, { since: new Date(String(before?.at)) })
    await heard(receiver, 1)
    expect(receiver.words()).toEqual(['after'])
  })

  test('that begins at a date in the future begins now', async () => {
    await write('before')
    await settled()
    const receiver = openReceiver()
    start(receiver, { since: new Date('2100-01-01') })
    await leased()
    await write('after')
    await heard(receiver, 1)
    expect(receiver.words()).toEqual(['after'])
  })
})

test('a forwarder that starts again continues at its position, and not at its beginning', async () => {
  const receiver = openReceiver()
  const first = start(receiver)
  await leased()
  await write(1)
  await saved(1)
  await first.stop()
  await write(2)
  start(receiver, { since: 'now' })
  await heard(receiver, 2)
  expect(receiver.seen.entries.map(({ sequence }) => sequence)).toEqual([1, 2])
})

test('the position stays before entries that are not confirmed, and they are sent again with the same numbers', async () => {
  const receiver = openReceiver()
  receiver.confirm(false)
  start(receiver)
  await leased()
  await write(1, 2)
  await heard(receiver, 2)
  expect(await rowOf()).toMatchObject({ sequence: 0, failing_since: null })
  receiver.fail(new ReceiverFault('the cable was cut'))
  await until('the failure is known', async () => (await rowOf())?.error ?? undefined)
  expect(await rowOf()).toMatchObject({
    sequence: 0,
    failing_since: expect.any(String),
    error: 'the cable was cut',
  })
  receiver.fail(undefined)
  receiver.confirm(true)
  clock.elapse(60_000)
  await saved(2)
  expect(receiver.words()).toEqual(['1', '2', '1', '2'])
  expect(receiver.seen.entries.map(({ sequence }) => sequence)).toEqual([1, 2, 1, 2])
  expect(receiver.seen.opened).toBeGreaterThan(1)
  expect(await rowOf()).toMatchObject({ failing_since: null, error: null })
})

test('a forwarder waits as long as its receiver asks, even if new entries arrive', async () => {
  const frozen = frozenClock()
  const receiver = openReceiver()
  receiver.fail(new ReceiverFault('slow down', 5_000))
  const failures: string[] = []
  await write('first')
  // A forwarder that is held back by an older transaction looks again after a delay of the frozen clock.
  await settled()
  const forwarder = forward(
    { db, changes, clock: frozen, log: silentLog },
    {
      name,
      title: name,
      since: 'start',
      open: receiver.open,
      onFailure: ({ message }) => void failures.push(message),
    },
  )
  onTestFinished(() => forwarder.stop())
  await until('it has failed', () => failures.length === 1 || undefined)
  await until('the failure is recorded', async () => (await rowOf())?.error ?? undefined)
  await write('second')
  await settled()
  await db.ping()
  expect(failures).toHaveLength(1)
  receiver.fail(undefined)
  await frozen.elapseOnceWaiting(5_000)
  await until('the entries arrive', () => receiver.words().length === 2 || undefined)
  expect(receiver.words()).toEqual(['first', 'second'])
})

test('while a receiver takes its time, no transaction is open', async () => {
  const taken = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const receiver = openReceiver()
  start(receiver, {
    open: () => {
      const { send, ...rest } = receiver.open()
      return {
        ...rest,
        async send(entries) {
          taken.resolve()
          await end.promise
          await send(entries)
        },
      }
    },
  })
  await leased()
  await write(1)
  await taken.promise
  await until('no transaction is open', async () => {
    const open = await database.sql(
      `select from pg_stat_activity
       where datname = current_database() and state like 'idle in transaction%'`,
    )
    return open.length === 0 || undefined
  })
  // Other consumers and requests can use the row of the position.
  expect(
    await database.sql('select from journal_consumers where consumer = $1 for update nowait', [
      name,
    ]),
  ).toHaveLength(1)
  end.resolve()
  await saved(1)
})

describe('of several nodes', () => {
  test('only one forwards, and another takes over when it stops', async () => {
    const [one, two] = [openReceiver(), openReceiver()]
    const first = start(one)
    await leased()
    const second = start(two)
    await second.idle()
    await write(1)
    await heard(one, 1)
    await saved(1)
    await first.stop()
    await write(2)
    await heard(two, 1)
    expect([one.words(), two.words()]).toEqual([['1'], ['2']])
  })

  test('one that has lost its lease saves no position, so the other sends its entries again', async () => {
    const [one, two] = [openReceiver(), openReceiver()]
    one.confirm(false)
    start(one)
    await leased()
    await write(1, 2)
    await heard(one, 2)
    // The lease expires, as after a node was suspended.
    await database.sql('update journal_consumers set leased_until = now() where consumer = $1', [
      name,
    ])
    start(two)
    await heard(two, 2)
    one.confirm(true)
    await saved(2)
    await write(3)
    await heard(two, 3)
    expect(two.words()).toEqual(['1', '2', '3'])
    expect(one.words()).toEqual(['1', '2'])
  })
})
