/** Updates that the provider pushes to the webhook. */
import { beforeAll, describe, expect, test } from 'vitest'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { botConfig, openScene, type Scene } from './scene.ts'

const SECRET = 'x-telegram-bot-api-secret-token'
let scene: Scene
let secret: string
beforeAll(async () => {
  scene = await openScene({ config: { MESSENGER_MODE: 'webhook' } })
  secret = await until('the provider is told', () => scene.bot.webhook()?.secret_token)
})

let updates = 0
function started(chat: number) {
  updates += 1
  return {
    update_id: updates,
    message: {
      text: '/start',
      chat: { id: chat, type: 'private' },
      from: { id: chat, is_bot: false, first_name: 'Nora' },
    },
  }
}
const post = (body: unknown, headers: Record<string, string> = { [SECRET]: secret }) =>
  scene.service.call('POST', '/webhooks/messenger', { body, headers })

describe('an update that the provider pushes to the bot', () => {
  test('arrives at a URL below PUBLIC_URL, with a secret for this bot', () => {
    expect(scene.bot.webhook()).toMatchObject({
      url: 'http://wardkeep.test/webhooks/messenger',
      secret_token: expect.stringMatching(/^[\w-]{43}$/),
      allowed_updates: ['message', 'my_chat_member'],
    })
    expect(scene.bot.polls).toEqual([])
  })

  test('is handled once, on any process', async () => {
    const other = await openService({
      database: scene.service.database,
      config: { ...botConfig(scene.bot), MESSENGER_MODE: 'webhook' },
    })
    const update = started(6001)
    const answers = await Promise.all([
      post(update),
      post(update),
      other.call('POST', '/webhooks/messenger', { body: update, headers: { [SECRET]: secret } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    await scene.heard(6001, 'Your code')
    expect((await post(started(6002))).status).toBe(200)
    await scene.heard(6002, 'Your code')
    expect(scene.bot.textsTo(6001)).toHaveLength(1)
  })

  test('is ignored if it was meant for a previous bot', async () => {
    const next = await openService({
      database: scene.service.database,
      config: {
        ...botConfig(scene.bot),
        MESSENGER_MODE: 'webhook',
        MESSENGER_BOT_TOKEN: '4712:another-bot',
      },
    })
    const { status, body } = await next.call('POST', '/webhooks/messenger', {
      body: started(6004),
      headers: { [SECRET]: secret },
    })
    expect([status, body.code]).toEqual([403, 'wrong_secret'])
  })

  test('is rejected without being read if the secret is missing, wrong or repeated', async () => {
    const refused = [
      {},
      { [SECRET]: '' },
      { [SECRET]: `${secret}x` },
      { [SECRET]: secret.toLowerCase() },
    ]
    for (const headers of refused) {
      const { status, body } = await post(started(6003), headers as Record<string, string>)
      expect([status, body.code]).toEqual([403, 'wrong_secret'])
      expect((await post('not an update', headers as Record<string, string>)).status).toBe(403)
    }
  })

  test('is rejected if malformed', async () => {
    for (const body of [null, [], 7, 'text', {}, { update_id: '7' }])
      expect((await post(body)).status).toBe(422)
  })

  test('is ignored while the bot polls for updates instead', async () => {
    const asking = await openService()
    const { status } = await asking.call('POST', '/webhooks/messenger', {
      body: started(1),
      headers: { [SECRET]: secret },
    })
    expect(status).toBe(404)
  })
})
