/** The outcome of messages for each response of the provider. */
import { beforeAll, describe, expect, test } from 'vitest'
import { mailsTo } from '../support/accounts.ts'
import { until } from '../support/until.ts'
import { happenTo, type Linked, linkedIn, newChat, openScene, rests, type Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})

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

const unlinkings = ({ person }: Linked) =>
  scene.service.database
    .sql<{ changes: any }>(
      `select changes from journal where action = 'messenger.unlinked' and resource_id = $1`,
      [String(person.id)],
    )
    .then((rows) => rows.map(({ changes }) => changes.reason))

test('many events are combined into one message with twenty lines and the number of other events', async () => {
  const one = await linkedIn(scene)
  await happenTo(scene, one.person, 'user.password_changed', 500)
  const text = await scene.heard(one.chat, 'and 480 more: 480 passwords changed')
  expect(text.split('\n')).toHaveLength(21)
  expect(text.split('\n')[0]).toMatch(
    /^\d+ \w+ \d\d:\d\d UTC: The password of your account was changed/,
  )
})

test('a new chat stays linked if the provider responds late to a message for the former chat', async () => {
  const one = await linkedIn(scene)
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
  await happenTo(scene, one.person, 'user.password_changed')
  await asked
  await scene.link(one.person, newChat())
  const [after] = await linksOf(one)
  expect(after).not.toBe(before)
  refuse()
  // Waits for the late response, which also cancels the remaining messages to the old chat.
  await until('the answer is written down', async () => {
    const waiting = await scene.service.database.sql('select 1 from messenger_replies')
    return waiting.length === 0 || undefined
  })
  expect(await linksOf(one)).toEqual([after])
  expect(await unlinkings(one)).toEqual(['replaced'])
})

describe('a chat of the bot', () => {
  test.each([
    ['Forbidden: bot was blocked by the user', 'blocked'],
    ['Forbidden: user is deactivated', 'deactivated'],
  ])(
    'is unlinked, with a journal entry and a mail, after the response "%s"',
    async (description, reason) => {
      const one = await linkedIn(scene)
      scene.bot.chatAnswers(one.chat, { code: 403, description })
      await happenTo(scene, one.person, 'user.password_changed')
      await until('it is unlinked', async () => ((await isLinked(one)) ? undefined : true))
      expect(await unlinkings(one)).toEqual([reason])
      await until('a mail says so', async () =>
        (await mailsTo(scene.service, one.person.email)).find(({ subject }) =>
          subject?.includes('no longer linked'),
        ),
      )
    },
  )

  test('is paused for an hour if refused for other reasons, and unlinked at the third refusal in a day', async () => {
    const one = await linkedIn(scene)
    scene.bot.chatAnswers(one.chat, { code: 403, description: 'Forbidden: for a while' })
    await happenTo(scene, one.person, 'user.password_changed')
    for (const hours of [1, 24]) {
      await rests(scene, one.person)
      expect(await isLinked(one)).toBe(true)
      scene.service.clock.advance(hours * 3_600_000 + 1000)
    }
    await until('it is unlinked', async () => ((await isLinked(one)) ? undefined : true))
    expect(await unlinkings(one)).toEqual(['unreachable'])
    // Checks that the chat can be linked again at once.
    scene.bot.chatAnswers(one.chat)
    await scene.codeOf(one.chat)
  })

  test.each([
    ['/start', 'Your code'],
    ['/help', '/stop: unlink'],
    ['/stop', 'no longer linked'],
  ])(
    'gets messages again after a refusal as soon as the user writes %s',
    async (command, answer) => {
      const one = await linkedIn(scene)
      scene.bot.chatAnswers(one.chat, { code: 400, description: 'Bad Request: chat not found' })
      await happenTo(scene, one.person, 'user.password_changed')
      await rests(scene, one.person)
      scene.bot.chatAnswers(one.chat)
      const before = scene.bot.textsTo(one.chat).length
      scene.bot.says(one.chat, command)
      await until(
        'it is answered',
        () => scene.bot.textsTo(one.chat)[before]?.includes(answer) || undefined,
        30_000,
      )
    },
  )

  test('has its refusals deleted once it accepts messages again', async () => {
    const one = await linkedIn(scene)
    scene.bot.chatAnswers(one.chat, { code: 400, description: 'Bad Request: chat not found' })
    await happenTo(scene, one.person, 'user.password_changed')
    await rests(scene, one.person)
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

  test('waits as long as a 429 response says, without delaying other chats', async () => {
    const [one, other] = [await linkedIn(scene), await linkedIn(scene)]
    scene.bot.chatAnswers(one.chat, { code: 429, description: 'Too Many', retry_after: 4000 })
    await happenTo(scene, one.person, 'user.password_changed')
    await rests(scene, one.person)
    await happenTo(scene, other.person, 'user.password_changed')
    await scene.heard(other.chat, /password/)
    scene.bot.chatAnswers(one.chat)
    scene.bot.says(one.chat, '/help')
    await until('an answer waits', async () => {
      const answers = await scene.service.database.sql(
        `select from messenger_replies r join messenger_links l using (chat_hash)
         where l.user_id = $1 and r.is_answer`,
        [one.person.id],
      )
      return answers.length > 0 || undefined
    })
    await rests(scene, one.person)
    expect(scene.bot.textsTo(one.chat).join()).not.toContain('password')
    scene.service.clock.advance(4_001_000)
    await scene.heard(one.chat, /password/)
  })

  test.each(['reset', 'html'] as const)(
    'gets a message again after the failure "%s"',
    async (answer) => {
      const one = await linkedIn(scene)
      scene.bot.chatAnswers(one.chat, answer)
      await happenTo(scene, one.person, 'user.password_changed')
      await rests(scene, one.person)
      scene.bot.chatAnswers(one.chat)
      scene.service.clock.advance(5_001)
      await scene.heard(one.chat, /password/)
    },
  )

  test('loses a message that can never be sent, and no other message', async () => {
    const one = await linkedIn(scene)
    scene.bot.chatAnswers(one.chat, { code: 400, description: 'Bad Request: message is odd' })
    await happenTo(scene, one.person, 'user.password_changed')
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
    await happenTo(scene, one.person, 'user.unblocked')
    await scene.heard(one.chat, /unblocked/)
    expect(scene.bot.textsTo(one.chat).join()).not.toContain('password')
  })
})

test("the bot never exceeds the provider's rate limits in the tests above", () => {
  expect(scene.bot.broken).toMatchObject({ rate: 0, chat: 0 })
})
