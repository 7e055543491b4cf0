/** What becomes of messages, whatever the provider answers. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { claim } from '../../src/features/messenger/bot/bot.store.ts'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import { mailsTo } from '../support/accounts.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { until } from '../support/embedded.ts'
import { openService } from '../support/service.ts'
import { openScene, type Scene } from './scene.ts'

let scene: Scene
let clinics = 0
let chats = 9000
const newChat = () => (chats += 1)
beforeAll(async () => {
  scene = await openScene()
})

interface Linked {
  person: Person
  chat: number
}

async function linked(): Promise<Linked> {
  clinics += 1
  // Signed in anew: the clock is moved here, and tokens expire.
  const root = await superadmin(scene.service)
  const clinic: Clinic = await makeClinic(scene.service, root, `sending-${clinics}`)
  const chat = newChat()
  await scene.link(clinic.people.nurse, chat)
  return { person: clinic.people.nurse, chat }
}

/** Something happens to the account, so often in one transaction. */
function happen({ person }: Linked, action: 'user.password_changed' | 'user.unblocked', times = 1) {
  const { tenant_id, id } = person
  return scene.service.app.db.inTenant(tenant_id, async (tx) => {
    await append(tx, SYSTEM, { action, tenant_id, resource_type: 'user', resource_id: id })
    await sql`
      insert into journal (tenant_id, action, resource_type, resource_id)
      select ${tenant_id}::bigint, ${action}, 'user', ${String(id)}
      from generate_series(2, ${times}::integer)`.execute(tx.db)
  })
}

const linksOf = ({ person }: Linked) =>
  scene.service.database
    .sql<{ id: number }>('select id from messenger_links where user_id = $1', [person.id])
    .then((rows) => rows.map(({ id }) => id))

const isLinked = async ({ person }: Linked) => {
  const [row] = await scene.service.database.sql<{ linked: boolean }>(
    'select exists (select from messenger_links where user_id = $1) as linked',
    [person.id],
  )
  return row?.linked
}

/** Waits until the chat has been tried and found resting until later. */
const rests = ({ person }: Linked) =>
  until('the chat rests', async () => {
    const rows = await scene.service.database.sql<{ free_at: string }>(
      `select free_at from messenger_chats c join messenger_links l on l.chat_hash = c.hash
       where l.user_id = $1 and c.due_at is not null and c.free_at > to_timestamp($2)`,
      [person.id, (scene.service.clock.now() + 1500) / 1000],
    )
    return rows.length > 0 || undefined
  })

const unlinkings = ({ person }: Linked) =>
  scene.service.database
    .sql<{ changes: any }>(
      `select changes from journal where action = 'messenger.unlinked' and resource_id = $1`,
      [String(person.id)],
    )
    .then((rows) => rows.map(({ changes }) => changes.reason))

test('many events are one message: twenty lines, and counts of the others', async () => {
  const one = await linked()
  await happen(one, 'user.password_changed', 500)
  const text = await scene.heard(one.chat, 'and 480 more: 480 passwords changed')
  expect(text.split('\n')).toHaveLength(21)
  expect(text.split('\n')[0]).toMatch(
    /^\d+ \w+ \d\d:\d\d UTC: The password of your account was changed/,
  )
})

test('what the old chat answers late does not unlink the new one', async () => {
  const one = await linked()
  let refuse = (): void => undefined
  const asked = new Promise<void>((heard) => {
    const held = new Promise<void>((resolve) => {
      refuse = resolve
    })
    const after = () => {
      heard()
      return held
    }
    const description = 'Forbidden: bot was blocked by the user'
    scene.bot.chatAnswers(one.chat, { code: 403, description, after })
  })
  const [before] = await linksOf(one)
  await happen(one, 'user.password_changed')
  await asked
  await scene.link(one.person, newChat())
  const [after] = await linksOf(one)
  expect(after).not.toBe(before)
  refuse()
  // With the answer, what else was to be said to the old chat is given up.
  await until('the answer is written down', async () => {
    const waiting = await scene.service.database.sql('select 1 from messenger_replies')
    return waiting.length === 0 || undefined
  })
  expect(await linksOf(one)).toEqual([after])
  expect(await unlinkings(one)).toEqual(['replaced'])
})

describe('a chat', () => {
  test.each([
    ['Forbidden: bot was blocked by the user', 'blocked'],
    ['Forbidden: user is deactivated', 'deactivated'],
  ])('that answers "%s" is unlinked, journaled and mailed', async (description, reason) => {
    const one = await linked()
    scene.bot.chatAnswers(one.chat, { code: 403, description })
    await happen(one, 'user.password_changed')
    await until('it is unlinked', async () => ((await isLinked(one)) ? undefined : true))
    expect(await unlinkings(one)).toEqual([reason])
    await until('a mail says so', async () =>
      (await mailsTo(scene.service, one.person.email)).find(({ subject }) =>
        subject?.includes('no longer linked'),
      ),
    )
  })

  test('that is refused for other reasons rests for an hour, and is unlinked at the third over a day', async () => {
    const one = await linked()
    scene.bot.chatAnswers(one.chat, { code: 403, description: 'Forbidden: for a while' })
    await happen(one, 'user.password_changed')
    for (const hours of [1, 24]) {
      await rests(one)
      expect(await isLinked(one)).toBe(true)
      scene.service.clock.advance(hours * 3_600_000 + 1000)
    }
    await until('it is unlinked', async () => ((await isLinked(one)) ? undefined : true))
    expect(await unlinkings(one)).toEqual(['unreachable'])
  })

  test('that takes messages again is forgiven its refusals', async () => {
    const one = await linked()
    scene.bot.chatAnswers(one.chat, { code: 400, description: 'Bad Request: chat not found' })
    await happen(one, 'user.password_changed')
    await rests(one)
    scene.bot.chatAnswers(one.chat)
    scene.service.clock.advance(3_601_000)
    await scene.heard(one.chat, /password/)
    await until('nothing is held against it', async () => {
      const [row] = await scene.service.database.sql<{ refusals: number }>(
        'select refusals from messenger_links where user_id = $1',
        [one.person.id],
      )
      return row?.refusals === 0 || undefined
    })
  })

  test('that was written to too often waits as long as it says, and nobody else', async () => {
    const [one, other] = [await linked(), await linked()]
    scene.bot.chatAnswers(one.chat, { code: 429, description: 'Too Many', retry_after: 4000 })
    await happen(one, 'user.password_changed')
    await rests(one)
    await happen(other, 'user.password_changed')
    await scene.heard(other.chat, /password/)
    scene.bot.chatAnswers(one.chat)
    expect(scene.bot.textsTo(one.chat).join()).not.toContain('password')
    scene.service.clock.advance(4_001_000)
    await scene.heard(one.chat, /password/)
  })

  test.each(['reset', 'html'] as const)(
    'whose message fails (%s) is sent it again',
    async (answer) => {
      const one = await linked()
      scene.bot.chatAnswers(one.chat, answer)
      await happen(one, 'user.password_changed')
      await rests(one)
      scene.bot.chatAnswers(one.chat)
      scene.service.clock.advance(5_001)
      await scene.heard(one.chat, /password/)
    },
  )

  test('whose message cannot be sent loses that one alone', async () => {
    const one = await linked()
    scene.bot.chatAnswers(one.chat, { code: 400, description: 'Bad Request: message is odd' })
    await happen(one, 'user.password_changed')
    await until('it is given up', async () => {
      const rows = await scene.service.database.sql(
        `select from messenger_notices n join messenger_links l on l.id = n.link_id where user_id = $1`,
        [one.person.id],
      )
      const wasTried = scene.service.logged.some(
        ([, fields]: any) => fields?.outcome?.kind === 'unsendable',
      )
      return (rows.length === 0 && wasTried) || undefined
    })
    scene.bot.chatAnswers(one.chat)
    await happen(one, 'user.unblocked')
    await scene.heard(one.chat, /unblocked/)
    expect(scene.bot.textsTo(one.chat).join()).not.toContain('password')
  })
})

// The bot asks again ever more rarely, after 20 seconds at last.
describe('the bot', { timeout: 120_000 }, () => {
  const capability = async () =>
    (await scene.service.call('GET', '/api/auth/capabilities')).body.messenger_bot_enabled
  const health = async () =>
    (await scene.service.call('GET', '/api/admin/health', { token: (await fresh()).token })).body
      .checks.messenger
  const fresh = () => superadmin(scene.service)
  const untilIs = <T>(what: string, ask: () => Promise<T>, wanted: T) =>
    until(what, async () => ((await ask()) === wanted ? true : undefined), 30_000)

  test('whose token is refused says so, and goes on with nothing lost when it is good again', async () => {
    const one = await linked()
    await untilIs('it works', capability, true)
    scene.bot.refuse(401)
    await happen(one, 'user.password_changed')
    await untilIs('it does not work', capability, false)
    await untilIs('health says so', health, 'degraded')
    scene.bot.refuse()
    await untilIs('it works again', capability, true)
    scene.service.clock.advance(5_001)
    await scene.heard(one.chat, /password/)
  })

  test('whose updates another program takes is degraded, sends all the same, and recovers', async () => {
    const one = await linked()
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(409, ['getUpdates'])
    await untilIs('it is not', health, 'degraded')
    expect(await capability()).toBe(true)
    await happen(one, 'user.password_changed')
    await scene.heard(one.chat, /password/)
    scene.bot.refuse()
    await untilIs('all is well again', health, 'ok')
    const code = await scene.codeOf(newChat())
    expect(code).toMatch(/^\w{4}-\w{4}$/)
  })

  test('that cannot have updates come its way is degraded, sends all the same, and recovers', async () => {
    const one = await linked()
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(401)
    await happen(one, 'user.password_changed')
    await untilIs('it does not work', capability, false)
    scene.bot.refuse(400, ['deleteWebhook'])
    await untilIs('it works', capability, true)
    expect(await health()).toBe('degraded')
    scene.service.clock.advance(5_001)
    await scene.heard(one.chat, /password/)
    scene.bot.refuse()
    await untilIs('all is well again', health, 'ok')
  })

  test('is known anew by each process that takes it over', async () => {
    const service = await openService()
    const stateOf = () => service.database.sql<{ state: string }>('select state from messenger_bot')
    await service.database.sql("update messenger_bot set state = 'ok'")
    await service.app.db.acrossTenants((tx) => claim(tx, 'another'))
    expect(await stateOf()).toEqual([{ state: 'new' }])
  })

  test('hears everybody, however much a stranger writes', async () => {
    const stranger = newChat()
    for (let message = 0; message < 60; message += 1) scene.bot.says(stranger, 'я'.repeat(4096))
    expect(await scene.codeOf(newChat())).toMatch(/^\w{4}-\w{4}$/)
  })

  test('takes an update once, though it comes again', async () => {
    scene.bot.repeat(true)
    const chat = newChat()
    await scene.codeOf(chat)
    const polls = scene.bot.polls.length
    await until('it was given again', () => scene.bot.polls.length > polls + 3 || undefined)
    scene.bot.repeat(false)
    expect(scene.bot.textsTo(chat)).toHaveLength(1)
  })
})

test('no limit of the provider was broken in all this', () => {
  expect(scene.bot.broken).toMatchObject({ rate: 0, chat: 0 })
})
