/** The state of the bot for each response of the provider. */
import { beforeAll, describe, expect, test } from 'vitest'
import { claimBotLease } from '../../src/features/messenger/bot/bot.store.ts'
import { SECOND } from '../../src/lib/clock.ts'
import { superadmin } from '../support/clinics.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { happenTo, linkedIn, newChat, openScene, type Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})

describe('the bot', () => {
  const capability = async () =>
    (await scene.service.call('GET', '/api/auth/capabilities')).body.messenger_bot_enabled
  const health = async () =>
    (await scene.service.call('GET', '/api/admin/health', { token: (await fresh()).token })).body
      .checks.messenger
  const fresh = () => superadmin(scene.service)
  const untilIs = <T>(what: string, ask: () => Promise<T>, wanted: T) =>
    until(what, async () => {
      // After failures, the bot polls at growing intervals.
      scene.service.clock.elapse(5 * SECOND)
      return (await ask()) === wanted ? true : undefined
    })

  test('reports a refused token, and continues without losing messages once the token is valid again', async () => {
    const one = await linkedIn(scene)
    await untilIs('it works', capability, true)
    scene.bot.refuse(401)
    await happenTo(scene, one.person, 'user.password_changed')
    await untilIs('it does not work', capability, false)
    await untilIs('health says so', health, 'degraded')
    scene.bot.refuse()
    await untilIs('it works again', capability, true)
    scene.service.clock.elapse(5_001)
    await scene.heard(one.chat, /password/)
  })

  test('is degraded but still sends while another program receives its updates, and recovers', async () => {
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

  test('is degraded but still sends while it cannot receive updates, and recovers', async () => {
    const one = await linkedIn(scene)
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(401)
    await happenTo(scene, one.person, 'user.password_changed')
    await untilIs('it does not work', capability, false)
    scene.bot.refuse(400, ['deleteWebhook'])
    await untilIs('it works', capability, true)
    expect(await health()).toBe('degraded')
    scene.service.clock.elapse(5_001)
    await scene.heard(one.chat, /password/)
    scene.bot.refuse()
    await untilIs('all is well again', health, 'ok')
  })

  test("reports a provider that fails for a minute, and recovers with the provider's next success", async () => {
    const one = await linkedIn(scene)
    await untilIs('all is well', health, 'ok')
    scene.bot.refuse(502)
    await until('it does not work', async () => {
      scene.service.clock.elapse(2 * SECOND)
      return (await capability()) ? undefined : true
    })
    expect(await health()).toBe('degraded')
    await happenTo(scene, one.person, 'user.password_changed')
    scene.bot.refuse()
    await untilIs('it works again', capability, true)
    expect(await health()).toBe('ok')
    // Failed updates are retried after a quarter of an hour at most.
    scene.service.clock.advance(15 * 60_000)
    await scene.heard(one.chat, /password/)
  })

  test('has its identity checked again by each process that takes the bot over', async () => {
    const service = await openService({ background: ['jobs', 'messenger'] })
    const stateOf = () => service.database.sql<{ state: string }>('select state from messenger_bot')
    await service.database.sql("update messenger_bot set state = 'ok'")
    await service.app.db.acrossTenants((tx) => claimBotLease(tx, 'another'))
    expect(await stateOf()).toEqual([{ state: 'new' }])
  })

  test('answers other people even if a stranger sends many messages', async () => {
    const stranger = newChat()
    for (let message = 0; message < 60; message += 1) scene.bot.says(stranger, 'я'.repeat(4096))
    expect(await scene.codeOf(newChat())).toMatch(/^\w{4}-\w{4}$/)
  })

  test('handles an update once, even if the provider delivers the update again', async () => {
    scene.bot.repeat(true)
    const chat = newChat()
    await scene.codeOf(chat)
    const polls = scene.bot.polls.length
    await until('it was given again', () => scene.bot.polls.length > polls + 3 || undefined)
    scene.bot.repeat(false)
    expect(scene.bot.textsTo(chat)).toHaveLength(1)
  })
})

test("the bot never exceeds the provider's rate limits in the tests above", () => {
  expect(scene.bot.broken).toMatchObject({ rate: 0, chat: 0 })
})
