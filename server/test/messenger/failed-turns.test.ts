/** The turn of a chat ends with a stored result after any failure, and never blocks the queue permanently. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { BotApi } from '../../src/features/messenger/bot/api.ts'
import { BotFault } from '../../src/features/messenger/bot/api.ts'
import type { Composed } from '../../src/features/messenger/sending/compose.ts'
import type { DueChat } from '../../src/features/messenger/sending/sending.store.ts'
import { turnTaker } from '../../src/features/messenger/sending/turn.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'

const HASH = Buffer.from('01', 'hex')
const MESSAGE = {
  kind: 'digest',
  lastId: 1,
  chatId: 1,
  text: 'text',
  link: { id: 1, tenant_id: 1, user_id: 1, sealed_chat: HASH, refusals: 0, refused_since: null },
  queuedAt: new Date().toISOString(),
} satisfies Composed
let service: Service
beforeAll(async () => {
  service = await openService()
  service.clock.stop()
})
beforeEach(() =>
  service.database.sql(
    `insert into messenger_chats (hash, due_at) values ($1, now())
     on conflict (hash) do update set due_at = now(), failures = 0, free_at = null`,
    [HASH],
  ),
)

const awayOnce = () => Object.assign(new Error('connection lost'), { code: '08006' })
const never = new AbortController().signal
const way = { sent: () => undefined, stop: never }

/**
 * Prepares a turn of the chat with the given failures. Returns the messages sent, and a function that runs the turn.
 */
function turnWith(wrong: {
  compose?: () => Promise<Composed>
  send?: () => Promise<void>
  unlink?: () => Promise<undefined>
  fence?: () => Promise<void>
}) {
  const sent: number[] = []
  const api = {
    sendMessage: async (chat: number) => {
      sent.push(chat)
      await wrong.send?.()
    },
  } as unknown as BotApi
  const nothing = async () => undefined
  const turn = turnTaker({
    db: service.app.db,
    clock: service.clock,
    log: silentLog,
    api,
    tenure: { epoch: 1, over: never, isSure: () => true, fence: wrong.fence ?? nothing },
    compose: wrong.compose ?? (async () => MESSAGE),
    unlink: wrong.unlink ?? nothing,
  })
  const take = async () => {
    const [chat] = await service.database.sql<DueChat>('select * from messenger_chats')
    return turn(chat as DueChat, way)
  }
  return { sent, take }
}

/** Returns the state of the chat, and for how many seconds it is paused. */
async function chatNow() {
  const [row] = await service.database.sql<{ failures: number; rests: number }>(
    `select failures, extract(epoch from free_at - to_timestamp($1))::float8 as rests
     from messenger_chats`,
    [service.clock.now() / 1000],
  )
  return row
}

test('a message that cannot be composed pauses its chat, longer each time', async () => {
  const { take } = turnWith({
    compose: async () => {
      throw new Error('this cannot be told')
    },
  })
  for (const [index, rests] of [5, 10, 20].entries()) {
    expect(await take()).toEqual({ kind: 'failed' })
    expect(await chatNow()).toEqual({ failures: index + 1, rests })
  }
})

test('a result that cannot be stored pauses the chat', async () => {
  const { take } = turnWith({
    send: async () => {
      const description = 'Forbidden: bot was blocked by the user'
      throw new BotFault('sendMessage', { code: 403, description, retryAfter: undefined })
    },
    unlink: async () => {
      throw new Error('the chat cannot be read')
    },
  })
  expect(await take()).toEqual({ kind: 'failed' })
  expect(await chatNow()).toEqual({ failures: 1, rests: 5 })
})

describe('a chat whose messages the provider refuses temporarily', () => {
  const refuse = async () => {
    const description = 'Forbidden: for a while'
    throw new BotFault('sendMessage', { code: 403, description, retryAfter: undefined })
  }
  beforeEach(() => service.database.sql('update messenger_chats set failures = 3'))

  test('is paused for an hour, and no failure is counted', async () => {
    expect(await turnWith({ send: refuse }).take()).toEqual({ kind: 'refused' })
    expect(await chatNow()).toEqual({ failures: 0, rests: 3600 })
  })

  test('is paused as long as other chats once it is unlinked', async () => {
    const refused_since = new Date(service.clock.now() - 86_400_000).toISOString()
    const link = { ...MESSAGE.link, refusals: 2, refused_since }
    const compose = async () => ({ ...MESSAGE, link })
    expect(await turnWith({ compose, send: refuse }).take()).toEqual({ kind: 'refused' })
    expect(await chatNow()).toEqual({ failures: 0, rests: 1 })
  })
})

test('a delivered message is recorded once the database is available, and is not sent again', async () => {
  let tries = 0
  const { take, sent } = turnWith({
    fence: async () => {
      tries += 1
      if (tries <= 2) throw awayOnce()
    },
  })
  expect(await take()).toEqual({ kind: 'sent' })
  expect([sent, tries]).toEqual([[1], 3])
  expect(await chatNow()).toEqual({ failures: 0, rests: 1 })
})

test('no failure of a chat is counted while the database is unavailable', async () => {
  const { take, sent } = turnWith({
    compose: async () => {
      throw awayOnce()
    },
  })
  await expect(take()).rejects.toThrow('connection lost')
  expect([sent, await chatNow()]).toEqual([[], { failures: 0, rests: null }])
})
