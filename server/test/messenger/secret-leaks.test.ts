/** Tokens, codes, chats and texts of the messenger appear in no place that other people can read. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import { BOT_TOKEN } from '../support/bot-server.ts'
import { until } from '../support/until.ts'
import { openScene, type Scene } from './scene.ts'

const CHAT = 987_654_321_012
let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})

/** Returns the contents of the log, the journal, the mails, the queued jobs and the messenger's tables. */
async function traces(): Promise<string> {
  const { service } = scene
  const rows = await service.database.sql(
    `select to_jsonb(j) as row from journal j
     union all select to_jsonb(j) from pgboss.job j
     union all select to_jsonb(c) from messenger_chats c
     union all select to_jsonb(c) from messenger_codes c
     union all select to_jsonb(r) from messenger_replies r
     union all select to_jsonb(l) from messenger_links l
     union all select to_jsonb(n) from messenger_notices n
     union all select to_jsonb(b) from messenger_bot b`,
  )
  const outbox = join(service.dataDir, 'outbox')
  const mails = await Promise.all(
    (await readdir(outbox)).map((name) => readFile(join(outbox, name), 'utf8')),
  )
  const log = inspect(service.logged, {
    depth: 12,
    showHidden: true,
    maxArrayLength: null,
    maxStringLength: null,
  })
  return [JSON.stringify(rows), mails.join('\n'), log].join('\n')
}

test('secrets of the bot stay out of logs, mails and the database, even if the provider fails or refuses', {
  timeout: 60_000,
}, async () => {
  const { service, bot, clinic } = scene
  const { doctor } = clinic.people
  const { tenant_id, id } = doctor
  const happen = () =>
    service.app.db.inTenant(tenant_id, (tx) =>
      append(tx, SYSTEM, {
        action: 'user.password_changed',
        tenant_id,
        resource_type: 'user',
        resource_id: id,
      }),
    )
  const warned = (what: string) =>
    until(
      `the log says ${what}`,
      () => inspect(service.logged, { depth: 8, maxArrayLength: null }).includes(what) || undefined,
    )
  /** Returns the time when the chat is next due. Each result changes this time. */
  const freeAt = async () => {
    const rows = await service.database.sql('select free_at::text from messenger_chats')
    return String(rows[0]?.free_at)
  }
  const code = await scene.codeOf(CHAT)
  expect((await scene.call('POST', '/link', doctor, { code })).status).toBe(200)
  const wrong = await scene.call('POST', '/link', doctor, { code })
  for (const [answer, outcome] of [
    ['reset', 'failed'],
    [{ code: 429, description: `Too Many for ${CHAT}`, retry_after: 9 }, 'limited'],
    [{ code: 403, description: `Forbidden: ${CHAT}` }, 'refused'],
    [{ code: 400, description: `Bad Request: ${CHAT} "The password of"` }, 'unsendable'],
  ] as const) {
    bot.chatAnswers(CHAT, answer)
    const before = await freeAt()
    await happen()
    await warned(`kind: '${outcome}'`)
    await until('it is written down', async () => (await freeAt()) !== before || undefined)
    service.clock.advance(3_700_000)
  }
  bot.chatAnswers(CHAT)
  await happen()
  const text = await scene.heard(CHAT, 'The password of your account')
  bot.refuse(401)
  await happen()
  await warned('getUpdates was answered 401')
  bot.refuse()
  await bot.close()
  await happen()
  // The delay before the bot polls again after a refused token.
  await service.clock.elapseOnceWaiting(10_000)
  await warned('was not answered')
  const said = (await traces()) + JSON.stringify(wrong.body)
  // The bot's number is public. Only the rest of the token is secret.
  const secret = BOT_TOKEN.split(':')[1] as string
  for (const hidden of [BOT_TOKEN, secret, code, code.replace('-', ''), String(CHAT)])
    expect(said.includes(hidden), hidden).toBe(false)
  expect(said).not.toContain(text)
  expect(said).not.toContain('The password of your account')
})
