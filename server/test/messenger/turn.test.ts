/** A chat's turn, whatever fails in it: it is settled, and not the first to be tried again for ever. */
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

/** A turn of the chat, with what is to go wrong. Returns what was sent, and how to take it. */
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

/** How the chat is, and for how many seconds it rests. */
async function chatNow() {
  const [row] = await service.database.sql<{ failures: number; rests: number }>(
    `select failures, extract(epoch from free_at - to_timestamp($1))::float8 as rests
     from messenger_chats`,
    [service.clock.now() / 1000],
  )
  return row
}

test('a message that cannot be made has its chat rest, ever longer', async () => {
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

test('an outcome that cannot be written down has its chat rest too', async () => {
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

describe('a chat that is refused for reasons that may pass', () => {
  const refuse = async () => {
    const description = 'Forbidden: for a while'
    throw new BotFault('sendMessage', { code: 403, description, retryAfter: undefined })
  }
  beforeEach(() => service.database.sql('update messenger_chats set failures = 3'))

  test('rests for an hour, which is no failure', async () => {
    expect(await turnWith({ send: refuse }).take()).toEqual({ kind: 'refused' })
    expect(await chatNow()).toEqual({ failures: 0, rests: 3600 })
  })

  test('rests no longer than any other once it is unlinked', async () => {
    const refused_since = new Date(service.clock.now() - 86_400_000).toISOString()
    const link = { ...MESSAGE.link, refusals: 2, refused_since }
    const compose = async () => ({ ...MESSAGE, link })
    expect(await turnWith({ compose, send: refuse }).take()).toEqual({ kind: 'refused' })
    expect(await chatNow()).toEqual({ failures: 0, rests: 1 })
  })
})

test('what has arrived is written down once the database is back, and not sent again', async () => {
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

test('a database that is away is no failure of the chat', async () => {
  const { take, sent } = turnWith({
    compose: async () => {
      throw awayOnce()
    },
  })
  await expect(take()).rejects.toThrow('connection lost')
  expect([sent, await chatNow()]).toEqual([[], { failures: 0, rests: null }])
})
