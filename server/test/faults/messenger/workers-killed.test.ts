/** Kills the process that runs the bot with SIGKILL. Another process takes over, and no update is lost. */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { ownerClient } from '../../../src/platform/db/connection.ts'
import { append, SYSTEM } from '../../../src/platform/journal/index.ts'
import { botConfig, type Scene, sceneOn } from '../../messenger/scene.ts'
import { BOT_TOKEN, openBotServer } from '../../support/bot-server.ts'
import { makeClinic, superadmin } from '../../support/clinics.ts'
import { OF_THIS_DATABASE } from '../../support/database.ts'
import { type Command, command, PLAIN } from '../../support/process.ts'
import { scratch } from '../../support/scratch.ts'
import { openService, ROOT_KEY } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const CHAT = 8001
let scene: Scene
let workers: Command[]

/** Starts two workers, one of which runs the bot. Returns the worker that runs the bot. */
async function theBot(): Promise<Command> {
  const epoch = /"epoch":(\d+),"msg":"messenger bot lease acquired"/
  return until(
    'a worker is the bot',
    () => workers.find((worker) => epoch.test(worker.stdout())),
    60_000,
  )
}

async function kill(worker: Command): Promise<void> {
  worker.signal('SIGKILL')
  expect((await worker.ended).signal).toBe('SIGKILL')
  workers = workers.filter((other) => other !== worker)
  // Ends the lease of the dead process early, because nothing renews it.
  await scene.service.database.sql('update messenger_bot set leased_until = now()')
}

const happen = (action: 'user.password_changed' | 'user.unblocked') => {
  const { tenant_id, id } = scene.clinic.people.nurse
  return scene.service.app.db.inTenant(tenant_id, (tx) =>
    append(tx, SYSTEM, { action, tenant_id, resource_type: 'user', resource_id: id }),
  )
}

beforeEach(async () => {
  const bot = await openBotServer()
  const service = await openService({ config: botConfig(bot) })
  const root = await superadmin(service)
  scene = sceneOn(service, bot, root, await makeClinic(service, root, 'killed'))
  const dataDir = await scratch()
  workers = [1, 2].map(() =>
    command(['start', '--role', 'worker'], {
      ...PLAIN,
      DATABASE_URL: service.database.url,
      DATA_DIR: dataDir,
      ENCRYPTION_KEY: ROOT_KEY.toString('base64'),
      MESSENGER_BOT_TOKEN: BOT_TOKEN,
      MESSENGER_API_URL: bot.url,
    }),
  )
})

test('the bot repeats at most one message if its worker is killed before the message is recorded', {
  timeout: 120_000,
}, async () => {
  const bot = await theBot()
  await scene.link(scene.clinic.people.nurse, CHAT)
  scene.bot.chatAnswers(CHAT, 'taken, then stall')
  await happen('user.password_changed')
  await scene.heard(CHAT, 'The password of your account')
  await kill(bot)
  scene.bot.chatAnswers(CHAT)
  await happen('user.unblocked')
  await until(
    'the other one goes on',
    () => {
      const texts = scene.bot.textsTo(CHAT).join('\n')
      return texts.includes('was unblocked') || undefined
    },
    60_000,
  )
  const texts = scene.bot.textsTo(CHAT).join('\n')
  expect(texts.match(/The password of your account/g)).toHaveLength(2)
  expect(texts.match(/was unblocked/g)).toHaveLength(1)
  expect(scene.bot.broken).toMatchObject({ rate: 0, chat: 0 })
})

test('the bot handles an update once if its worker is killed before its position is stored', {
  timeout: 120_000,
}, async () => {
  const bot = await theBot()
  const client = ownerClient(scene.service.database.address)
  await client.connect()
  onTestFinished(() => client.end())
  // The command blocks here, after it has received the update and before it stores the offset.
  await client.query('begin; lock table messenger_codes in access exclusive mode')
  scene.bot.says(CHAT, '/start')
  await until('the update is being taken', async () => {
    const waiting = await scene.service.database.sql(
      `select from pg_locks where relation = 'messenger_codes'::regclass and not granted
         and ${OF_THIS_DATABASE}`,
    )
    return waiting.length > 0 || undefined
  })
  await kill(bot)
  await client.query('commit')
  await until(
    'the chat is given a code',
    () => scene.bot.textsTo(CHAT).length > 0 || undefined,
    60_000,
  )
  scene.bot.says(CHAT, '/help')
  await scene.heard(CHAT, '/stop: unlink')
  expect(scene.bot.textsTo(CHAT).filter((text) => text.startsWith('Your code'))).toHaveLength(1)
  const [{ updates } = { updates: 0 }] = await scene.service.database.sql<{ updates: number }>(
    'select count(*)::int as updates from messenger_updates',
  )
  expect(updates).toBe(2)
})
