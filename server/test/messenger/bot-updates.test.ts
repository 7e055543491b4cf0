/** The bot of a process receives updates by webhook or polling, as configured. The provider may refuse its token. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type BotApi, BotFault } from '../../src/features/messenger/bot/api.ts'
import { startBot } from '../../src/features/messenger/bot/bot.ts'
import { updateTaker } from '../../src/features/messenger/bot/take-updates.ts'
import { SECOND } from '../../src/lib/clock.ts'
import { watchChanges } from '../../src/platform/db/index.ts'
import { silentLog } from '../support/server-address.ts'
import { openService, type Service } from '../support/service.ts'
import { type MovableClock, movableClock } from '../support/time.ts'
import { until } from '../support/until.ts'

const HOOK = { url: 'https://clinic.example/webhooks/messenger', secret: 'secret' }
let service: Service
beforeAll(async () => {
  service = await openService()
})

/** Starts a bot with a fake API. It registers a webhook unless polling is requested. */
function started(
  api: Partial<BotApi>,
  webhook: typeof HOOK | null = HOOK,
  clock: MovableClock = movableClock(),
) {
  const changes = watchChanges(service.database.address, silentLog, clock)
  const bot = startBot({
    db: service.app.db,
    changes,
    clock,
    log: silentLog,
    api: {
      getMe: async () => ({ id: 1, username: 'bot' }),
      setWebhook: async () => undefined,
      getWebhook: async () => HOOK.url,
      getUpdates: async () => [],
      sendMessage: async () => undefined,
      ...api,
    },
    tenure: {
      epoch: 0,
      over: new AbortController().signal,
      isSure: () => true,
      fence: async () => undefined,
    },
    take: async () => undefined,
    webhook,
    checkMs: 50,
  })
  onTestFinished(async () => {
    await bot.stop()
    await changes.stop()
  })
  return bot
}

async function stateNow(): Promise<string | undefined> {
  const [row] = await service.database.sql<{ state: string }>('select state from messenger_bot')
  return row?.state
}

const stateIs = (state: string) =>
  until(`the bot is ${state}`, async () => (await stateNow()) === state || undefined, 30_000)

test("the service detects that another program removed the bot's webhook, and registers the webhook again", async () => {
  let hooked = ''
  let isTaken = false
  const set: string[] = []
  started({
    async setWebhook(to) {
      if (isTaken) throw new BotFault('setWebhook', null)
      set.push(to?.url ?? '')
      hooked = HOOK.url
    },
    getWebhook: async () => hooked,
  })
  await stateIs('ok')
  expect(set).toEqual([HOOK.url])
  isTaken = true
  hooked = 'https://elsewhere.example/'
  await until('it is noted', async () => (await stateNow()) !== 'ok' || undefined)
  isTaken = false
  await stateIs('ok')
  expect(set).toEqual([HOOK.url, HOOK.url])
})

test("the service checks the bot's token again if the provider refuses the token while the webhook is registered", async () => {
  const asked: string[] = []
  const bot = started({
    async getMe() {
      asked.push('getMe')
      return { id: 1, username: 'bot' }
    },
    async setWebhook() {
      asked.push('setWebhook')
      if (asked.length > 2) return
      bot.refused()
      expect(bot.isGood()).toBe(false)
    },
  })
  await until('the webhook is set again', () => asked.length === 4 || undefined)
  expect(asked).toEqual(['getMe', 'setWebhook', 'getMe', 'setWebhook'])
  await until('it is good', () => bot.isGood() || undefined)
})

describe('a bot provider that does not respond', () => {
  const SILENT = new BotFault('getWebhookInfo', null)
  const FAULTY = new BotFault('getWebhookInfo', {
    code: 502,
    description: 'Bad Gateway',
    retryAfter: undefined,
  })
  const ANSWERED = new BotFault('getWebhookInfo', {
    code: 429,
    description: 'Too Many Requests',
    retryAfter: 1,
  })

  const begunAnew = () => service.database.sql("update messenger_bot set state = 'new'")

  /** Polls with the given outcomes. The bot works at the start. Returns the state before each poll. */
  async function failing(outcomes: readonly { fault?: BotFault; after: number }[]) {
    const states: (string | undefined)[] = []
    let isFailing = false
    const clock = movableClock()
    await begunAnew()
    const api = {
      async getWebhook() {
        const next = isFailing ? outcomes[states.length] : undefined
        if (!next) return HOOK.url
        states.push(await stateNow())
        clock.advance(next.after)
        if (next.fault) throw next.fault
        return HOOK.url
      },
    }
    started(api, HOOK, clock)
    await stateIs('ok')
    isFailing = true
    for (const { fault } of outcomes)
      if (fault) await clock.elapseOnceWaiting((fault.refusal?.retryAfter ?? 2) * SECOND)
    await until('all were asked', () => states.length === outcomes.length || undefined)
    return states
  }

  test('is reported as unavailable after a minute, at the third failure, and as available at the first success', async () => {
    const states = await failing([
      { fault: SILENT, after: 0 },
      { fault: FAULTY, after: 60_000 },
      { fault: FAULTY, after: 0 },
      { after: 0 },
    ])
    expect(states).toEqual(['ok', 'ok', 'ok', 'away'])
    await stateIs('ok')
  })

  test('is not reported as unavailable within a minute, however often it is polled', async () => {
    const states = await failing([
      { fault: FAULTY, after: 0 },
      ...Array.from({ length: 3 }, () => ({ fault: SILENT, after: 10_000 })),
      { after: 0 },
    ])
    expect(states).toEqual(['ok', 'ok', 'ok', 'ok', 'ok'])
  })

  test.each([
    ['a success', undefined],
    ['a refusal', ANSWERED],
  ])('has its failures counted from zero again after %s', async (_what, fault) => {
    const states = await failing([
      { fault: SILENT, after: 0 },
      { fault: SILENT, after: 50_000 },
      fault ? { fault, after: 50_000 } : { after: 50_000 },
      { fault: SILENT, after: 50_000 },
      { fault: SILENT, after: 0 },
      { after: 0 },
    ])
    expect(states).toEqual(Array(6).fill('ok'))
  })

  test('is polled without long waits while it is unavailable, so that its return is noticed immediately', async () => {
    const held: boolean[] = []
    const clock = movableClock()
    await begunAnew()
    started(
      {
        async getUpdates(_offset, _signal, now = false) {
          held.push(!now)
          clock.advance(30_000)
          if (held.length <= 3) throw SILENT
          return []
        },
      },
      null,
      clock,
    )
    for (let failures = 0; failures < 3; failures += 1) await clock.elapseOnceWaiting(2 * SECOND)
    await until('it is asked again and again', () => held.length > 4 || undefined)
    expect(held.slice(0, 5)).toEqual([true, true, true, false, true])
  })
})

const taken = async (update_id: number) =>
  (await service.database.sql('select from messenger_updates where update_id = $1', [update_id]))
    .length

test('an update is skipped for good after three failures', async () => {
  let handled = 0
  const take = updateTaker({
    log: silentLog,
    handle: async () => {
      handled += 1
      throw new Error('poison')
    },
  })
  const once = () => service.app.db.acrossTenants((tx) => take(tx, 1, { update_id: 71 }))
  for (let time = 0; time < 3; time += 1) await expect(once()).rejects.toThrow('poison')
  expect(await taken(71)).toBe(0)
  await once()
  await once()
  expect([handled, await taken(71)]).toEqual([3, 1])
})

test('an update is not skipped because the database is unavailable', async () => {
  let handled = 0
  const take = updateTaker({
    log: silentLog,
    handle: async () => {
      handled += 1
      if (handled <= 5) throw Object.assign(new Error('away'), { code: '57P01' })
    },
  })
  const once = () => service.app.db.acrossTenants((tx) => take(tx, 1, { update_id: 72 }))
  for (let time = 0; time < 5; time += 1) await expect(once()).rejects.toThrow('away')
  await once()
  expect([handled, await taken(72)]).toEqual([6, 1])
})
