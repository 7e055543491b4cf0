/** What becomes of the bot, whatever the provider answers to its questions. */
import { beforeAll, describe, expect, test } from 'vitest'
import { claim } from '../../src/features/messenger/bot/bot.store.ts'
import { superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { happenTo, linkedIn, newChat, openScene, type Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
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
    const one = await linkedIn(scene)
    await untilIs('it works', capability, true)
    scene.bot.refuse(401)
    await happenTo(scene, one.person, 'user.password_changed')
    await untilIs('it does not work', capability, false)
    await untilIs('health says so', health, 'degraded')
    scene.bot.refuse()
    await untilIs('it works again', capability, true)
    scene.service.clock.advance(5_001)
    await scene.heard(one.chat, /password/)
  })

  test('whose updates another program takes is degraded, sends all the same, and recovers', async () => {
    const one = await linkedIn(scene)
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(409, ['getUpdates'])
    await untilIs('it is not', health, 'degraded')
    expect(await capability()).toBe(true)
    await happenTo(scene, one.person, 'user.password_changed')
    await scene.heard(one.chat, /password/)
    scene.bot.refuse()
    await untilIs('all is well again', health, 'ok')
    const code = await scene.codeOf(newChat())
    expect(code).toMatch(/^\w{4}-\w{4}$/)
  })

  test('that cannot have updates come its way is degraded, sends all the same, and recovers', async () => {
    const one = await linkedIn(scene)
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(401)
    await happenTo(scene, one.person, 'user.password_changed')
    await untilIs('it does not work', capability, false)
    scene.bot.refuse(400, ['deleteWebhook'])
    await untilIs('it works', capability, true)
    expect(await health()).toBe('degraded')
    scene.service.clock.advance(5_001)
    await scene.heard(one.chat, /password/)
    scene.bot.refuse()
    await untilIs('all is well again', health, 'ok')
  })

  test('whose provider is at fault for a minute says so, and recovers with its first answer', async () => {
    const one = await linkedIn(scene)
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(502)
    await until('it does not work', async () => {
      scene.service.clock.advance(2_000)
      return (await capability()) ? undefined : true
    })
    expect(await health()).toBe('degraded')
    await happenTo(scene, one.person, 'user.password_changed')
    scene.bot.refuse()
    await untilIs('it works again', capability, true)
    expect(await health()).toBe('ok')
    // What was tried meanwhile rests for a quarter of an hour at the most.
    scene.service.clock.advance(15 * 60_000)
    await scene.heard(one.chat, /password/)
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
