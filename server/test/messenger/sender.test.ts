/** The sender continues after any result of a single message. An idle sender does nothing. */
import { expect, onTestFinished, test } from 'vitest'
import { startSender } from '../../src/features/messenger/sending/sender.ts'
import type { Turn } from '../../src/features/messenger/sending/turn.ts'
import { type Scopes, watchChanges } from '../../src/platform/db/index.ts'
import { furnishAccount, furnishMessenger } from '../isolation/furnish.ts'
import { superadmin } from '../support/clinics.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

/** Starts a sender. The test provides the function that handles the turn of a chat. */
function sending({ app, database, clock }: Service, turn: Turn, db: Scopes = app.db) {
  const changes = watchChanges(database.address, silentLog, clock)
  const sender = startSender({
    db,
    changes,
    clock,
    log: silentLog,
    bot: { isGood: () => true, refused: () => undefined },
    tenure: {
      epoch: 1,
      over: new AbortController().signal,
      isSure: () => true,
      fence: async () => undefined,
    },
    turn,
  })
  onTestFinished(async () => {
    await sender.stop()
    await changes.stop()
  })
  return sender
}

/** Makes a message due for the chats in this many milliseconds. */
const isDue = ({ database, clock }: Service, chats: readonly string[], ms = 0) =>
  database.sql(
    `insert into messenger_chats (hash, due_at)
     select decode(unnest($1::text[]), 'hex'), to_timestamp($2)`,
    [chats, (clock.now() + ms) / 1000],
  )

const settle = ({ database }: Service, hash: Buffer) =>
  database.sql('update messenger_chats set due_at = null where hash = $1', [hash])

test('no chat is delayed if the first run after a pause throws', async () => {
  const service = await openService()
  const turned: string[] = []
  sending(service, async ({ hash }) => {
    await settle(service, hash)
    const turns = turned.push(hash.toString('hex'))
    if (turns <= 2) return { kind: 'limited', retryMs: 1000 }
    if (turns === 3) throw new Error('the database is away')
    return { kind: 'sent' }
  })
  await isDue(service, ['01', '02'])
  await until('all are held', () => turned.length === 2 || undefined, 20_000)
  await isDue(service, ['03', '04', '05'])
  service.clock.elapse(1_000)
  await until('all have had their turn', () => turned.length === 5 || undefined, 20_000)
  expect(turned.toSorted()).toEqual(['01', '02', '03', '04', '05'])
})

test('the sender does not poll repeatedly while a message is being sent', async () => {
  const service = await openService()
  let looks = 0
  const counted: Scopes = {
    ...service.app.db,
    acrossTenants(work, mode) {
      looks += 1
      return service.app.db.acrossTenants(work, mode)
    },
  }
  const turned: string[] = []
  let answer = (): void => undefined
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  await isDue(service, ['01'])
  await isDue(service, ['02'], 2500)
  sending(
    service,
    async ({ hash }) => {
      turned.push(hash.toString('hex'))
      if (turned.length === 1) await answered
      await settle(service, hash)
      return { kind: 'sent' }
    },
    counted,
  )
  await until('the first is under way', () => turned.length === 1 || undefined)
  service.clock.elapse(2_500)
  await until('the second is due', () => turned.length === 2 || undefined)
  answer()
  // Allows one poll every second, a few around each message, and a few for differences between clocks.
  expect(looks).toBeLessThan(20)
})

test('requests without a response are aborted on shutdown, early enough to record them', async () => {
  const service = await openService()
  let outcome: string | undefined
  const sender = sending(service, async ({ hash }, { stop }) => {
    outcome = 'under way'
    await new Promise<void>((resolve) => stop.addEventListener('abort', () => resolve()))
    await settle(service, hash)
    outcome = 'written down'
    return { kind: 'failed' }
  })
  await isDue(service, ['01'])
  await until('it is under way', () => outcome)
  const stopped = sender.stop()
  await service.clock.elapseOnceWaiting(3_000)
  await stopped
  expect(outcome).toBe('written down')
})

test('failed messages of linked chats are sent before those of strangers, which get at most a third of the rate', async () => {
  const service = await openService()
  const { database } = service
  const strangers = Array.from({ length: 40 }, (_, chat) => (chat + 16).toString(16))
  await isDue(service, strangers, -60_000)
  const root = await superadmin(service)
  await furnishAccount(service, root)
  await furnishMessenger(service, root)
  const [failing] = await database.sql<{ hash: Buffer }>(
    `insert into messenger_chats (hash, due_at, failures)
     select chat_hash, to_timestamp($1), 1 from messenger_links returning hash`,
    [service.clock.now() / 1000],
  )
  const turned: string[] = []
  sending(service, async ({ hash }) => {
    turned.push(hash.toString('hex'))
    await settle(service, hash)
    return { kind: 'sent' }
  })
  await until('some have had their turn', () => turned.length >= 11 || undefined)
  expect(turned.slice(0, 11)).toContain(failing?.hash.toString('hex'))
})
