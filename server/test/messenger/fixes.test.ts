/** The messenger's own faults: a bot that nobody is, and chats that have waited for days. */
import { beforeAll, expect, test } from 'vitest'
import { openBotServer } from '../support/bot-server.ts'
import { fixIn, scanAndConfirm } from '../support/fixes.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { botConfig, happenTo, linkedIn, openScene, type Scene } from './scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene()
})

const isHeld = async () => {
  const [bot] = await scene.service.database.sql<{ held: boolean }>(
    'select leased_until > now() as held from messenger_bot',
  )
  return bot?.held || undefined
}

test('a bot that a process has, or has had just now, is no fault', async () => {
  await until('a process has the bot', isHeld)
  expect(await fixIn(scene.service, 'messenger.poller').findings()).toEqual([])
  expect(await fixIn(scene.service, 'messenger.paused').findings()).toEqual([])
})

test('a service without a bot misses none', async () => {
  const service = await openService({ role: 'api' })
  await service.database.sql("update messenger_bot set leased_until = now() - interval '1 hour'")
  for (const key of ['messenger.poller', 'messenger.paused'])
    expect(await fixIn(service, key).findings()).toEqual([])
})

test('a bot that nobody is for minutes is told of, and a repair says what to start', async () => {
  const bot = await openBotServer()
  const service = await openService({ role: 'api', config: botConfig(bot) })
  const poller = fixIn(service, 'messenger.poller')
  expect(await poller.findings()).toEqual([])
  await service.database.sql("update messenger_bot set leased_until = now() - interval '1 hour'")
  const [finding] = await poller.findings()
  expect(finding).toMatchObject({ tenant_id: null, measured: { lease: 'held by nobody' } })
  await expect(poller.repair(finding as never)).rejects.toThrow('start one with the role worker')
  // What is held back has no bot, and shall have none.
  await service.database.sql('update installation set outbound_held_at = now()')
  const copy = await openService({
    role: 'api',
    config: botConfig(bot),
    database: service.database,
  })
  expect(await fixIn(copy, 'messenger.poller').findings()).toEqual([])
})

test('a lease that reaches too far is ended, and a process takes the bot', async () => {
  const { service } = scene
  const poller = fixIn(service, 'messenger.poller')
  await until('a process has the bot', isHeld)
  // As a process leaves it that died while the clock of the database was wrong.
  await service.database.sql(
    "update messenger_bot set leased_by = 'gone', epoch = epoch + 1, leased_until = now() + interval '1 year'",
  )
  const [finding] = await poller.findings()
  expect(finding?.measured).toMatchObject({ lease: 'reaches too far' })
  expect(await scanAndConfirm(service, 'messenger.poller')).toHaveLength(1)
  expect(await poller.repair(finding as never)).toBe('already gone')
})

test('chats that failed for days are told of by tenant, and tried again', async () => {
  const { service, bot } = scene
  const { sql } = service.database
  const { person, chat } = await linkedIn(scene)
  const paused = fixIn(service, 'messenger.paused')
  bot.chatAnswers(chat, { code: 500, description: 'Internal Server Error' })
  await happenTo(scene, person, 'user.password_changed')
  await until('the chat has failed', async () => {
    const rows = await sql(
      `select 1 from messenger_chats c join messenger_links l on l.chat_hash = c.hash
       where c.failures > 0 and l.user_id = $1`,
      [person.id],
    )
    return rows.length > 0 || undefined
  })
  expect(await paused.findings()).toEqual([])
  await sql(`update messenger_notices set event_at = event_at - interval '3 days',
    queued_at = queued_at - interval '3 days'`)
  const [finding, ...others] = await paused.findings()
  expect(others).toEqual([])
  const [link] = await sql<{ id: number }>('select id from messenger_links where user_id = $1', [
    person.id,
  ])
  expect(finding).toMatchObject({
    tenant_id: person.tenant_id,
    measured: { chats: 1, links: String(link?.id), failures: expect.any(Number) },
  })
  expect(JSON.stringify(finding)).not.toContain(String(chat))
  bot.chatAnswers(chat)
  expect(await scanAndConfirm(service, 'messenger.paused')).toHaveLength(1)
  await scene.heard(chat, 'password')
  await until('nothing waits', async () => (await paused.findings()).length === 0 || undefined)
  expect(await paused.repair(finding as never)).toBe('already gone')
})
