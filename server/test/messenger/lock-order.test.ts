/**
 * The lock order of chats and links. Every writer locks the chat first, as the queue does, so deadlocks cannot happen.
 */
import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { updateHandler } from '../../src/features/messenger/bot/updates.ts'
import { type Chats, openChats } from '../../src/features/messenger/linking/chats.ts'
import { SEALED_CODES } from '../../src/features/messenger/linking/linking.service.ts'
import { insertLink, saveCode } from '../../src/features/messenger/linking/links.store.ts'
import { replier } from '../../src/features/messenger/linking/replies.ts'
import { unlinker } from '../../src/features/messenger/linking/unlink.ts'
import { openKeyRing, openRootKeys } from '../../src/platform/crypto/index.ts'
import { unheard } from '../sessions/scopes.ts'
import { newColleague } from '../sessions/users.ts'
import { openBotServer } from '../support/bot-server.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, ROOT_KEY, rootKeys, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { botConfig, newChat } from './scene.ts'

let service: Service
let clinic: Clinic
let chats: Chats
/** A separate transaction that acts like the one that queues events. */
let queue: pg.Client
let person: Person
let chat: number

beforeAll(async () => {
  // No bot runs here, because it would lock chats too.
  service = await openService({ config: botConfig(await openBotServer()) })
  clinic = await makeClinic(service, await superadmin(service), 'north')
  const { db } = service.app
  const { sealer, deriveKey } = await openRootKeys(db, rootKeys(ROOT_KEY))
  const keyRing = await openKeyRing(db, sealer, unheard)
  chats = openChats({ deriveKey, sealer, keyRing })
})

beforeEach(async () => {
  queue = new pg.Client({ connectionString: service.database.url })
  await queue.connect()
  onTestFinished(() => queue.end())
  person = clinic.people.nurse
  chat = newChat()
  await service.database.sql('delete from messenger_links')
  await linked(chat)
})

/** Links the person with the chat. */
async function linked(id: number): Promise<void> {
  const user = { tenant_id: person.tenant_id, user_id: person.id }
  await chatOf(id)
  await service.app.db.acrossTenants(async (tx) => {
    const sealed_chat = await chats.sealFor(tx, user, { id, username: null, name: '' })
    await insertLink(tx, { ...user, chat_hash: chats.hashOf(id), sealed_chat })
  })
}

const chatOf = (id: number) =>
  service.database.sql('insert into messenger_chats (hash) values ($1)', [chats.hashOf(id)])

async function holdChat(): Promise<void> {
  await queue.query('begin')
  await queue.query('select from messenger_chats where hash = $1 for update', [chats.hashOf(chat)])
}

const untilWaiting = (count = 1) =>
  until('what is held is waited for', async () => {
    const waits = await service.database.sql(
      `select from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waits.length >= count || undefined
  })

/** Locks the chat as the queue does while the work waits for it. Expects that nothing has locked the link. */
async function expectFree(work: () => Promise<unknown>): Promise<void> {
  await holdChat()
  const working = work()
  await untilWaiting()
  const link = await queue.query(
    'select from messenger_links where chat_hash = $1 for key share nowait',
    [chats.hashOf(chat)],
  )
  expect(link.rowCount).toBe(1)
  await queue.query('commit')
  await working
}

/** Creates a chat to which the code was sent. */
async function coded(code: string): Promise<number> {
  const id = newChat()
  const chat_hash = chats.hashOf(id)
  await chatOf(id)
  await service.app.db.acrossTenants((tx) =>
    saveCode(tx, {
      chat_hash,
      code_hash: chats.hashOfCode(code),
      sealed_chat: chats.seal(SEALED_CODES, chat_hash, { id, username: null, name: '' }),
      expires_at: new Date(service.clock.now() + 60_000).toISOString(),
    }),
  )
  return id
}

const linksLeft = () =>
  service.database.sql<{ chat_hash: Buffer }>('select chat_hash from messenger_links')

const call = (method: string, path: string, body?: object) =>
  service.call(method, path, { token: person.token, body })

test('unlinking a chat from the account locks the chat before other rows', async () => {
  await expectFree(async () => {
    expect((await call('DELETE', '/api/messenger/link')).status).toBe(200)
  })
  expect(await linksLeft()).toEqual([])
})

test('unlinking a chat also unlinks another chat that has replaced it in the meantime', async () => {
  const next = newChat()
  await chatOf(next)
  await holdChat()
  const unlinking = call('DELETE', '/api/messenger/link')
  await untilWaiting()
  await queue.query('update messenger_links set id = id + 1000, chat_hash = $1', [
    chats.hashOf(next),
  ])
  await queue.query('commit')
  expect((await unlinking).body.linked).toBe(false)
  expect(await linksLeft()).toEqual([])
})

test('linking another chat locks the former chat before other rows', async () => {
  const next = await coded('ABCD2345')
  await expectFree(async () => {
    const { status } = await call('POST', '/api/messenger/link', { code: 'ABCD-2345' })
    expect(status).toBe(200)
  })
  expect(await linksLeft()).toEqual([{ chat_hash: chats.hashOf(next) }])
})

test.each([
  ['unlinking with the command /stop', { message: { text: '/stop', from: { is_bot: false } } }],
  ['blocking the bot', { my_chat_member: { new_chat_member: { status: 'kicked' } } }],
])('%s locks the chat before other rows', async (_what, said) => {
  const { clock, app } = service
  const reply = replier({ chats, clock })
  const mailer = { isConfigured: true, send: async () => undefined }
  const unlink = unlinker({ clock, chats, reply, mailer })
  const handle = updateHandler({ clock, chats, reply, unlink })
  const [[kind, what]] = Object.entries(said) as [[string, object]]
  const update = { update_id: 1, [kind]: { ...what, chat: { id: chat, type: 'private' } } }
  await expectFree(() => app.db.acrossTenants((tx) => handle(tx, update)))
  expect(await linksLeft()).toEqual([])
})

test('deleting an account locks its chat before other rows', async () => {
  const { token } = clinic.people.admin
  person = clinic.people.doctor
  await service.database.sql('delete from messenger_links')
  chat = newChat()
  await linked(chat)
  await expectFree(async () => {
    const { status } = await service.call('DELETE', `/api/admin/users/${person.id}`, { token })
    expect(status).toBe(204)
  })
  expect(await linksLeft()).toEqual([])
})

describe('deleting an account while its owner links another chat', () => {
  let next: number
  const link = () => call('POST', '/api/messenger/link', { code: 'WXYZ-2345' })
  const remove = () =>
    service.call('DELETE', `/api/admin/users/${person.id}`, { token: clinic.people.admin.token })
  const isFree = (what: string, lock: string, value: unknown) =>
    expect(
      queue.query(`select from ${what} = $1 for ${lock} nowait`, [value]),
    ).resolves.toBeTruthy()

  beforeEach(async () => {
    person = await newColleague(service, clinic)
    await service.database.sql('delete from messenger_links')
    await service.database.sql('delete from messenger_codes')
    chat = newChat()
    await linked(chat)
    next = await coded('WXYZ2345')
  })

  test('waits without locking the account, which the new link refers to, if the linking began first', async () => {
    await queue.query('begin')
    await queue.query('select from messenger_links where user_id = $1 for key share', [person.id])
    const linking = link()
    await untilWaiting()
    const removing = remove()
    await untilWaiting(2)
    await isFree('users where id', 'key share', person.id)
    await queue.query('commit')
    expect((await linking).status).toBe(200)
    expect((await removing).status).toBe(204)
    expect(await linksLeft()).toEqual([])
  })

  test('makes the linking wait without locking the new chat if the deletion began first', async () => {
    await holdChat()
    const removing = remove()
    await untilWaiting()
    const linking = link()
    await untilWaiting(2)
    await isFree('messenger_chats where hash', 'update', chats.hashOf(next))
    await queue.query('commit')
    expect((await removing).status).toBe(204)
    expect((await linking).status).toBe(401)
    expect(await linksLeft()).toEqual([])
  })
})

test('two codes that one user enters concurrently on two nodes are accepted, and one chat stays linked', async () => {
  const { database } = service
  const config = botConfig(await openBotServer())
  // Uses two nodes, because a single node handles the codes of a user one after the other.
  const nodes = [service, await openService({ database, config })]
  const people = await Promise.all('1234'.split('').map(() => newColleague(service, clinic)))
  for (let round = 0; round < 8; round += 1) {
    // In every other round the person already has a link. Both requests then lock its chat too.
    if (round % 2 === 0) await database.sql('delete from messenger_links')
    const given = await Promise.all(
      people.flatMap(({ token }, index) =>
        nodes.map(async (node, half) => {
          const code = `${'AB'[half]}${'CDEF'[index]}${'GHJKMNPQ'[round]}D2345`
          await coded(code)
          return { node, token, code }
        }),
      ),
    )
    const answers = await Promise.all(
      given.map(({ node, token, code }) =>
        node.call('POST', '/api/messenger/link', { token, body: { code } }),
      ),
    )
    expect(answers.map(({ status, body }) => [status, body.linked])).toEqual(
      given.map(() => [200, true]),
    )
    expect(await linksLeft()).toHaveLength(people.length)
  }
})
