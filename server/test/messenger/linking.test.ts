/** Linking a chat: the person requests a code in the chat, and enters it in their account. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signOutMeanwhile } from '../races/race.ts'
import { newColleague, newPerson, renewAdmin } from '../sessions/users.ts'
import { forgive, mailsTo } from '../support/accounts.ts'
import { BOT } from '../support/bot-server.ts'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { botConfig, openScene, type Scene } from './scene.ts'

let scene: Scene
let chats = 5000
const newChat = () => (chats += 1)
beforeAll(async () => {
  scene = await openScene()
})
beforeEach(() => forgive(scene.service))

const entriesOf = (userId: number) =>
  scene.service.database.sql<{ action: string; changes: any }>(
    `select action, changes from journal where action like 'messenger.%' and resource_id = $1 order by id`,
    [String(userId)],
  )

test('entering a code in the service links the chat with the account', async () => {
  const { doctor } = scene.clinic.people
  const chat = newChat()
  const code = await scene.codeOf(chat)
  const { status, body } = await scene.call('POST', '/link', doctor, { code: code.toLowerCase() })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    enabled: true,
    linked: true,
    username: 'nora_n',
    bot_username: BOT.username,
  })
  expect(Date.parse(body.linked_at)).toBeLessThanOrEqual(Date.now())
  // The message in the chat names the linked account, and the mail to the account names the chat.
  await scene.heard(chat, 'to the account of doctor of north at Clinic north')
  const mail = await until('a mail says so', async () =>
    (await mailsTo(scene.service, doctor.email)).find(({ subject }) =>
      /was linked/.test(subject ?? ''),
    ),
  )
  expect(mail.text).toContain('the chat of “Nora” (user name nora_n)')
  expect(mail.text).toContain('the name does not prove who owns the chat')
  expect(await entriesOf(doctor.id)).toEqual([{ action: 'messenger.linked', changes: null }])
})

test('a code is accepted once, and for at most ten minutes', async () => {
  const { nurse, receptionist } = scene.clinic.people
  const used = await scene.codeOf(newChat())
  expect((await scene.call('POST', '/link', nurse, { code: used })).status).toBe(200)
  const old = await scene.codeOf(newChat())
  const chat = newChat()
  const replaced = await scene.codeOf(chat)
  await scene.codeOf(chat)
  scene.service.clock.advance(10 * 60_000 + 1)
  const tokens = await scene.service.call('POST', '/api/auth/login', {
    body: { email: receptionist.email, password: receptionist.password, subdomain: 'north' },
  })
  const person = { ...receptionist, token: tokens.body.access_token }
  for (const code of [used, old, replaced, 'ABCD-2345']) {
    const { status, body } = await scene.call('POST', '/link', person, { code })
    expect([status, body.code]).toEqual([400, 'link_code_invalid'])
    await forgive(scene.service)
  }
})

test.each(['', 'ABCD-234', 'not-a-code!', 7, null])(
  'a malformed code is rejected: %j',
  async (code) => {
    const { status, body } = await scene.call('POST', '/link', scene.clinic.people.nurse, { code })
    expect(status).toBe(422)
    expect(body.detail[0].loc).toEqual(['body', 'code'])
  },
)

test('only one of sixteen users who enter one code concurrently on two nodes gets the chat linked', async () => {
  const other = await openService({
    database: scene.service.database,
    config: botConfig(scene.bot),
  })
  const people = [scene.root]
  for (const name of ['east', 'south', 'west'])
    people.push(...Object.values((await makeClinic(scene.service, scene.root, name)).people))
  const chat = newChat()
  const code = await scene.codeOf(chat)
  const answers = await Promise.all(
    people.map(({ token }, index) =>
      (index % 2 === 0 ? scene.service : other).call('POST', '/api/messenger/link', {
        token,
        body: { code },
      }),
    ),
  )
  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses).toEqual([200, ...Array(15).fill(expect.toBeOneOf([400, 429]))])
  const links = await scene.service.database.sql(
    'select from messenger_links where user_id = any($1)',
    [people.map(({ id }) => id)],
  )
  expect(links).toHaveLength(1)
})

test('chat, mail and journal contain nothing about a link that could not be committed', async () => {
  const clinic = await makeClinic(scene.service, scene.root, 'failing')
  const { nurse } = clinic.people
  const { sql } = scene.service.database
  await sql(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create constraint trigger refuse after insert on messenger_links
      deferrable initially deferred for each row execute function refuse()`)
  const chat = newChat()
  const code = await scene.codeOf(chat)
  expect((await scene.call('POST', '/link', nurse, { code })).status).toBe(500)
  await sql('drop trigger refuse on messenger_links; drop function refuse')
  // The code is still valid after the failed request. A message from the failed request would have been sent before the
  // next one.
  expect((await scene.call('POST', '/link', nurse, { code })).status).toBe(200)
  await scene.heard(chat, 'is now linked')
  await scene.service.idle('jobs')
  const subjects = (await mailsTo(scene.service, nurse.email)).map(({ subject }) => subject)
  expect(subjects.filter((subject) => subject?.includes('chat was linked'))).toHaveLength(1)
  expect(scene.bot.textsTo(chat).filter((text) => text.includes('is now linked'))).toHaveLength(1)
  expect(await entriesOf(nurse.id)).toHaveLength(1)
})

test('a session that ends while its request waits links no chat, and the code stays valid', async () => {
  await renewAdmin(scene.service, scene.clinic)
  const person = await newColleague(scene.service, scene.clinic)
  const code = await scene.codeOf(newChat())
  const answer = await signOutMeanwhile(scene.service, person, ['users', person.id], () =>
    scene.call('POST', '/link', person, { code }),
  )
  expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_token' } })
  expect(await entriesOf(person.id)).toEqual([])
  const other = await newColleague(scene.service, scene.clinic)
  expect((await scene.call('POST', '/link', other, { code })).status).toBe(200)
})

test('a chat can be linked with only one account across all tenants', async () => {
  const { admin, auditor } = scene.clinic.people
  const chat = newChat()
  await scene.link(admin, chat)
  const code = await scene.codeOf(chat)
  for (const person of [auditor, scene.root]) {
    const { status, body } = await scene.call('POST', '/link', person, { code })
    expect([status, body.code]).toEqual([409, 'chat_linked'])
  }
  // The linked account may link the chat again. Nothing changes.
  expect((await scene.call('POST', '/link', admin, { code })).status).toBe(200)
  expect(await entriesOf(admin.id)).toHaveLength(1)
})

test('a new chat replaces the old chat of an account, and both are notified', async () => {
  const { auditor } = scene.clinic.people
  const [before, after] = [newChat(), newChat()]
  await scene.call('DELETE', '/link', auditor)
  await scene.link(auditor, before)
  await scene.link(auditor, after)
  await scene.heard(before, 'replaces this one')
  expect((await entriesOf(auditor.id)).slice(-2)).toEqual([
    { action: 'messenger.unlinked', changes: { reason: 'replaced' } },
    { action: 'messenger.linked', changes: null },
  ])
})

describe('unlinking a chat', () => {
  /** Returns a person with a chat, and the token of a user who may delete that person. */
  async function leaving(by: string) {
    const root = await superadmin(scene.service)
    const { id: tenantId, subdomain } = scene.clinic
    const person = await newPerson(scene.service, root, { tenantId, subdomain })
    const chat = newChat()
    await scene.link(person, chat)
    return { person, chat, token: by === 'an admin' ? (await signedIn('admin')).token : root.token }
  }

  test('from the account notifies chat, mail and journal, and does nothing when repeated', async () => {
    const { receptionist } = scene.clinic.people
    const tokens = await scene.service.call('POST', '/api/auth/login', {
      body: { email: receptionist.email, password: receptionist.password, subdomain: 'north' },
    })
    const person = { ...receptionist, token: tokens.body.access_token }
    const chat = newChat()
    await scene.link(person, chat)
    for (const _twice of [1, 2]) {
      const { status, body } = await scene.call('DELETE', '/link', person)
      expect([status, body.linked, body.username, body.linked_at]).toEqual([200, false, null, null])
    }
    await scene.heard(chat, 'no longer linked')
    await until('a mail says so', async () =>
      (await mailsTo(scene.service, person.email)).find(({ subject }) =>
        /no longer/.test(subject ?? ''),
      ),
    )
    expect((await entriesOf(person.id)).at(-1)).toEqual({
      action: 'messenger.unlinked',
      changes: { reason: 'api' },
    })
  })

  test.each(['an admin', 'a superadmin'])(
    'by %s who deletes the account notifies the chat and the journal',
    async (by) => {
      const { person, chat, token } = await leaving(by)
      const gone = await scene.service.call('DELETE', `/api/admin/users/${person.id}`, { token })
      expect(gone.status).toBe(204)
      await scene.heard(chat, 'was deleted. You will not receive any more notifications here')
      expect((await entriesOf(person.id)).at(-1)).toEqual({
        action: 'messenger.unlinked',
        changes: { reason: 'deleted' },
      })
      // The chat can be linked with another account again.
      await scene.link(await signedIn('nurse'), chat)
    },
  )

  const damageChatOf = ({ id }: { id: number }) =>
    scene.service.database.sql(
      `update messenger_links set sealed_chat = set_byte(sealed_chat, 50, get_byte(sealed_chat, 50) # 1)
       where user_id = $1`,
      [id],
    )

  test('from the account also works if the chat is undecryptable, and the status still shows the chat', async () => {
    const { person } = await leaving('an admin')
    await damageChatOf(person)
    const shown = await scene.call('GET', '/status', person)
    expect([shown.status, shown.body]).toMatchObject([
      200,
      { linked: true, username: null, linked_at: expect.any(String) },
    ])
    const { status, body } = await scene.call('DELETE', '/link', person)
    expect([status, body.linked]).toEqual([200, false])
    // Another chat replaces the undecryptable one.
    await scene.link(person, newChat())
  })

  test('by deleting the account also works if the chat is undecryptable', async () => {
    const { person, token } = await leaving('an admin')
    await damageChatOf(person)
    const gone = await scene.service.call('DELETE', `/api/admin/users/${person.id}`, { token })
    expect(gone.status).toBe(204)
    expect((await entriesOf(person.id)).at(-1)?.changes).toEqual({ reason: 'deleted' })
  })

  test('from within the chat also invalidates the code of the chat', async () => {
    const person = await signedIn('nurse')
    const chat = newChat()
    await scene.link(person, chat)
    const code = await scene.codeOf(chat)
    scene.bot.says(chat, '/stop@wardkeep_bot')
    await scene.heard(chat, 'no longer linked')
    expect((await scene.call('GET', '/status', person)).body.linked).toBe(false)
    expect((await scene.call('POST', '/link', person, { code })).status).toBe(400)
  })

  test('happens when the person blocks the bot', async () => {
    const person = await signedIn('nurse')
    const chat = newChat()
    await scene.link(person, chat)
    scene.bot.update({
      my_chat_member: {
        chat: { id: chat, type: 'private' },
        new_chat_member: { status: 'kicked' },
      },
    })
    await until('the account has no chat', async () =>
      (await scene.call('GET', '/status', person)).body.linked ? undefined : true,
    )
    expect((await entriesOf(person.id)).at(-1)?.changes).toEqual({ reason: 'blocked' })
  })
})

test('after five wrong codes, correct codes have to wait too', async () => {
  const person = await signedIn('doctor')
  for (let guess = 0; guess < 5; guess += 1)
    expect((await scene.call('POST', '/link', person, { code: 'ABCD-2345' })).status).toBe(400)
  const code = await scene.codeOf(newChat())
  const { status, headers } = await scene.call('POST', '/link', person, { code })
  expect(status).toBe(429)
  expect(Number(headers['retry-after'])).toBeGreaterThan(0)
})

test('a correct code does not reset the count of wrong codes', async () => {
  const person = await signedIn('doctor')
  const code = await scene.codeOf(newChat())
  const guesses = Array(4).fill('ABCD-2345')
  const statuses: number[] = []
  for (const one of [...guesses, code, 'ABCD-2345', 'ABCD-2345'])
    statuses.push((await scene.call('POST', '/link', person, { code: one })).status)
  expect(statuses).toEqual([400, 400, 400, 400, 200, 400, 429])
})

test('after twenty wrong codes from one IP address, all users at that address have to wait', async () => {
  const clinic = await makeClinic(scene.service, await superadmin(scene.service), 'crowded')
  const { admin, ...others } = clinic.people
  for (const person of Object.values(others))
    for (let guess = 0; guess < 5; guess += 1) {
      const { status } = await scene.call('POST', '/link', person, { code: 'ABCD-2345' })
      expect(status).toBe(400)
    }
  const code = await scene.codeOf(newChat())
  expect((await scene.call('POST', '/link', admin, { code })).status).toBe(429)
})

test('a new code is not issued if its message cannot be queued, and the existing code stays valid', async () => {
  const { admin } = (await makeClinic(scene.service, await superadmin(scene.service), 'full'))
    .people
  const { sql } = scene.service.database
  const chat = newChat()
  const code = await scene.codeOf(chat)
  await sql(`
    with chat as (insert into messenger_chats (hash) values ('\\x01') returning hash)
    insert into messenger_replies (chat_hash, is_answer, sealed_reply, expires_at)
    select hash, false, '\\x00', now() + interval '1 hour' from chat, generate_series(1, 10001)`)
  scene.bot.says(chat, '/start')
  const polls = scene.bot.polls.length
  await until('it was taken', () => scene.bot.polls.length > polls || undefined)
  await sql("delete from messenger_replies where chat_hash = '\\x01'")
  expect((await scene.call('POST', '/link', admin, { code })).status).toBe(200)
})

describe('the bot in a conversation', () => {
  test('responds to commands and any other private message of a person', async () => {
    const chat = newChat()
    scene.bot.says(chat, 'hello')
    await scene.heard(chat, '/stop: unlink')
    const other = newChat()
    scene.bot.says(other, '/stop')
    await scene.heard(other, 'not linked to an account')
    const payload = newChat()
    scene.bot.says(payload, '/start ABCDEFGH')
    await scene.heard(payload, 'Your code')
  })

  test('ignores groups, channels, bots, edited messages and anything but text', async () => {
    const silent = [newChat(), newChat(), newChat(), newChat(), newChat()] as const
    const from = { id: 1, is_bot: false, first_name: 'Nora' }
    const text = '/start'
    const chat = (id: number, type = 'private') => ({ id, type })
    scene.bot.update({ message: { text, from, chat: chat(silent[0], 'group') } })
    scene.bot.update({ channel_post: { text, chat: chat(silent[1], 'channel') } })
    scene.bot.update({ message: { text, from: { ...from, is_bot: true }, chat: chat(silent[2]) } })
    scene.bot.update({ edited_message: { text, from, chat: chat(silent[3]) } })
    scene.bot.update({ message: { from, chat: chat(silent[4]), photo: [] } })
    scene.bot.update({ message: null, my_chat_member: 7 })
    const last = newChat()
    await scene.codeOf(last)
    expect(silent.flatMap((one) => scene.bot.textsTo(one))).toEqual([])
    expect(scene.bot.polls.at(-1)?.allowed_updates).toEqual(['message', 'my_chat_member'])
  })

  test('sends plain text without link previews', () => {
    for (const { payload } of scene.bot.sent) {
      expect(Object.keys(payload).sort()).toEqual(['chat_id', 'link_preview_options', 'text'])
      expect(payload.link_preview_options).toEqual({ is_disabled: true })
    }
  })
})

async function signedIn(role: 'doctor' | 'nurse' | 'admin') {
  const person = scene.clinic.people[role]
  const { body } = await scene.service.call('POST', '/api/auth/login', {
    body: { email: person.email, password: person.password, subdomain: 'north' },
  })
  return { ...person, token: body.access_token as string }
}
