/** Runs the normal flow against a third-party implementation of the Bot API, to verify our reading of the protocol. */

import foreign from 'telegram-test-api'
import { expect, onTestFinished, test } from 'vitest'
import { makeClinic, superadmin } from '../support/clinics.ts'
import { freePort } from '../support/process.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

// The module is CommonJS, so the import is the class itself. Its types do not reflect that.
const TelegramServer = foreign as unknown as typeof foreign.default
const TOKEN = 'a-token'

test('the bot links a chat by a code, and notifies the chat', async () => {
  const server = new TelegramServer({ port: await freePort(), host: '127.0.0.1' })
  await server.start()
  onTestFinished(async () => void (await server.stop()))
  const service = await openService({
    background: ['messenger'],
    config: {
      MESSENGER_BOT_TOKEN: TOKEN,
      MESSENGER_API_URL: `http://127.0.0.1:${server.config.port}`,
    },
  })
  const { nurse } = (await makeClinic(service, await superadmin(service), 'north')).people
  const chat = server.getClient(TOKEN, {
    userId: 1,
    chatId: 1,
    firstName: 'Nora',
    userName: 'nora',
  })
  const texts = () =>
    server.getUpdatesHistory(TOKEN).map((update) => JSON.stringify(update).replaceAll('\\n', '\n'))
  await chat.sendCommand(chat.makeCommand('/start'))
  const code = await until('a code is shown', () => /code: (\S+)/.exec(texts().join('\n'))?.[1])
  const { status, body } = await service.call('POST', '/api/messenger/link', {
    token: nurse.token,
    body: { code },
  })
  expect([status, body.linked, body.bot_username]).toEqual([200, true, 'TestNameBot'])
  await until(
    'the chat is told',
    () => texts().some((text) => text.includes('is now linked')) || undefined,
  )
})
