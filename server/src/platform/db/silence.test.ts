/** Tests which waits are aborted, and when. */
import { PassThrough } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { frozenClock, type MovableClock } from '../../../test/support/time.ts'
import { problemOf } from './failures.ts'
import { type SilenceWatch, watchDatabaseSilence } from './silence.ts'

let clock: MovableClock
/** The time of the listener's last heartbeat. */
let receivedAt: number
let watch: SilenceWatch
let probes: PromiseWithResolvers<void>[]

beforeEach(() => {
  clock = frozenClock()
  receivedAt = clock.monotonic()
  probes = []
  watch = watchDatabaseSilence({
    changes: { silentMs: () => clock.monotonic() - receivedAt },
    clock,
    probe() {
      const asked = Promise.withResolvers<void>()
      probes.push(asked)
      return asked.promise
    },
  })
})

/** Advances time in small steps, as in a process that is not suspended. */
async function pass(ms: number, isReceived = false): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    if (isReceived) receivedAt = clock.monotonic()
    clock.elapse(100)
    await nextTurn()
  }
}

function connection() {
  const stream = new PassThrough()
  let released = 0
  const client = { connection: { stream }, release: () => void released++ }
  return {
    client: client as unknown as pg.PoolClient,
    isClosed: () => stream.destroyed,
    released: () => released,
  }
}

const never = new Promise<never>(() => undefined)

test('the silence detector closes the connection of a query that has waited 3 s for a database that does not respond', async () => {
  const { client, isClosed } = connection()
  void watch.begin().answer(client, never)
  await pass(2_900)
  expect(isClosed()).toBe(false)
  await pass(100)
  expect(isClosed()).toBe(true)
})

test('the silence detector keeps waiting for a slow query while the listener receives messages, and for 2 s afterwards', async () => {
  const { client, isClosed } = connection()
  void watch.begin().answer(client, never)
  await pass(30_000, true)
  await pass(1_800)
  expect(isClosed()).toBe(false)
  await pass(300)
  expect(isClosed()).toBe(true)
})

test('the silence detector aborts the wait for a connection, and returns a late connection to the pool', async () => {
  const { client, released } = connection()
  const { promise, resolve } = Promise.withResolvers<pg.PoolClient>()
  const failure = watch
    .begin()
    .connection(() => promise)
    .catch((error) => error)
  await pass(3_000)
  expect(problemOf(await failure)?.code).toBe('database_away')
  resolve(client)
  await promise
  expect(released()).toBe(1)
})

const refused = (connecting: Promise<unknown>) =>
  connecting.then(
    () => false,
    () => true,
  )

test('the silence detector refuses connections after an aborted wait until the listener receives a message', async () => {
  const { client } = connection()
  const connect = async () => client
  void watch.begin().answer(client, never)
  await pass(2_900)
  expect(await refused(watch.begin().connection(connect))).toBe(false)
  await pass(100)
  expect(await refused(watch.begin().connection(connect))).toBe(true)
  receivedAt = clock.monotonic()
  expect(await refused(watch.begin().connection(connect))).toBe(false)
})

test('the silence detector hands out connections after a successful test query, even if the listener receives nothing', async () => {
  const { client } = connection()
  const connect = async () => client
  void watch.begin().answer(client, never)
  await pass(3_500)
  expect(probes).toHaveLength(1)
  probes[0]?.reject(new Error('still silent'))
  await Promise.resolve()
  expect(await refused(watch.begin().connection(connect))).toBe(true)
  await pass(100)
  expect(probes).toHaveLength(2)
  probes[1]?.resolve()
  await probes[1]?.promise
  expect(await refused(watch.begin().connection(connect))).toBe(false)
})

test('the silence detector counts the wait for a connection and for the first response as one wait', async () => {
  const { client, isClosed } = connection()
  const patience = watch.begin()
  const { promise, resolve } = Promise.withResolvers<pg.PoolClient>()
  const connecting = patience.connection(() => promise)
  await pass(2_000)
  resolve(client)
  void patience.answer(await connecting, never)
  await pass(1_000)
  expect(isClosed()).toBe(true)
})

test('the silence detector starts another wait for the query after a response', async () => {
  const { client, isClosed } = connection()
  const patience = watch.begin()
  const { promise, resolve } = Promise.withResolvers<void>()
  const answer = patience.answer(client, promise)
  await pass(2_000)
  resolve()
  await answer
  await pass(2_000)
  void patience.answer(client, never)
  await pass(2_900)
  expect(isClosed()).toBe(false)
  await pass(100)
  expect(isClosed()).toBe(true)
})

test('the silence detector aborts no wait during which this process could not read responses', async () => {
  const { client, isClosed } = connection()
  void watch.begin().answer(client, never)
  clock.elapse(60_000)
  await nextTurn()
  expect(isClosed()).toBe(false)
})

test('the silence detector aborts no wait because this process was suspended', async () => {
  const { client, isClosed } = connection()
  void watch.begin().answer(client, never)
  const suspended = clock.monotonic
  clock.monotonic = () => suspended() + 60_000
  await pass(2_900)
  expect(isClosed()).toBe(false)
  await pass(200)
  expect(isClosed()).toBe(true)
})
