/** A clinic with a bot, and people who link their chats with a code from the chat. */
import { sql } from 'kysely'
import { expect } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { append, SYSTEM } from '../../src/platform/journal/index.ts'
import { BOT_TOKEN, type BotServer, openBotServer } from '../support/bot-server.ts'
import { type Clinic, makeClinic, type Person, superadmin } from '../support/clinics.ts'
import { openService, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

export interface Scene {
  service: Service
  bot: BotServer
  root: Person
  clinic: Clinic
  /** Requests a code from the chat. Returns the code as shown. */
  codeOf(chat: number, from?: Record<string, unknown>): Promise<string>
  /** Links the person with the chat, and waits for the chat's confirmation. */
  link(person: Person, chat: number): Promise<void>
  call(method: string, path: string, person: Person, body?: unknown): Promise<any>
  /** Waits for a message to the chat that contains `what`. Returns it. */
  heard(chat: number, what: string | RegExp): Promise<string>
}

export const botConfig = (bot: BotServer): Partial<Config> => ({
  MESSENGER_BOT_TOKEN: BOT_TOKEN,
  MESSENGER_API_URL: bot.url,
})

export async function openScene(options: Parameters<typeof openService>[0] = {}): Promise<Scene> {
  const bot = await openBotServer()
  const config = { ...botConfig(bot), ...options.config }
  const service = await openService({ background: ['jobs', 'messenger'], ...options, config })
  bot.measureBy(service.clock)
  const root = await superadmin(service)
  const clinic = await makeClinic(service, root, 'north')
  return sceneOn(service, bot, root, clinic)
}

export function sceneOn(service: Service, bot: BotServer, root: Person, clinic: Clinic): Scene {
  const heard: Scene['heard'] = (chat, what) =>
    until(
      `chat ${chat} hears ${what}`,
      () =>
        bot
          .textsTo(chat)
          .find((text) => (typeof what === 'string' ? text.includes(what) : what.test(text))),
      30_000,
    )

  async function codeOf(chat: number, from?: Record<string, unknown>): Promise<string> {
    const before = bot.textsTo(chat).length
    bot.says(chat, '/start', from)
    return until(
      `chat ${chat} is given a code`,
      () => /code: (\S+)/.exec(bot.textsTo(chat).slice(before).join('\n'))?.[1],
      30_000,
    )
  }

  const call: Scene['call'] = (method, path, person, body) =>
    service.call(method, `/api/messenger${path}`, { token: person.token, body })

  return {
    service,
    bot,
    root,
    clinic,
    codeOf,
    heard,
    call,
    async link(person, chat) {
      const answer = await call('POST', '/link', person, { code: await codeOf(chat) })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      await heard(chat, 'is now linked')
    },
  }
}

let clinics = 0
let chats = 9000
export const newChat = () => (chats += 1)

export interface Linked {
  person: Person
  chat: number
}

/** Creates a clinic with one person who has a linked chat. */
export async function linkedIn(scene: Scene): Promise<Linked> {
  clinics += 1
  // Starts a new session, because tokens have expired if a test has moved the clock.
  const root = await superadmin(scene.service)
  const clinic: Clinic = await makeClinic(scene.service, root, `linked-${clinics}`)
  const chat = newChat()
  await scene.link(clinic.people.nurse, chat)
  return { person: clinic.people.nurse, chat }
}

/** Creates this many events of the account in one transaction. */
export function happenTo(
  { service }: Scene,
  { tenant_id, id }: Person,
  action: 'user.password_changed' | 'user.unblocked',
  times = 1,
) {
  return service.app.db.inTenant(tenant_id, async (tx) => {
    await append(tx, SYSTEM, { action, tenant_id, resource_type: 'user', resource_id: id })
    await sql`
      insert into journal (tenant_id, action, resource_type, resource_id)
      select ${tenant_id}::bigint, ${action}, 'user', ${String(id)}
      from generate_series(2, ${times}::integer)`.execute(tx.db)
  })
}

/** Waits until an attempt to send to the person's chat has failed and the chat is paused. */
export const rests = ({ service }: Scene, { id }: Person) =>
  until(
    'the chat rests',
    async () => {
      const rows = await service.database.sql(
        `select from messenger_chats c join messenger_links l on l.chat_hash = c.hash
         where l.user_id = $1 and c.due_at is not null and c.free_at > to_timestamp($2)`,
        [id, (service.clock.now() + 1500) / 1000],
      )
      return rows.length > 0 || undefined
    },
    30_000,
  )
