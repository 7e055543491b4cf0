/** A bot whose chats are linked in the same way as those of users: with a code from the chat. */
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { openBaseline } from '../baselines/baseline.ts'
import type { Answers, Failure, Message, Question } from '../baselines/bot-api.ts'
import type { Environment } from '../environment.ts'
import { sharedMs } from '../measure/clock.ts'
import { userId } from '../seed/people.ts'
import { seed } from '../seed/seed.ts'
import { emailOf, PASSWORD, subdomainOf } from '../seed/sizes.ts'
import { ownerOf, signIn, startService } from '../service.ts'

export interface Chats {
  /** Commits an event for the account of each chat. Returns when the commit was acknowledged (`sharedMs`). */
  happen(chats: readonly number[]): Promise<number>
  /** Waits until the messages since the last wait are enough, or no message has arrived for this long. */
  wait(isEnough: (messages: readonly Message[]) => boolean, patienceMs?: number): Promise<Message[]>
  /** From now on requests for these chats fail. */
  fail(chats: readonly number[], as: Failure): Promise<void>
  /** Returns how many messages the limits have refused. */
  refused(): number
  close(): Promise<void>
}

/** The number of users of each clinic who sign in. The seed has blocked some of the other users. */
const EACH = 99
const PATIENCE_MS = 60_000
const LOOK_MS = 20

const EVENTS = `
  insert into journal (tenant_id, action, resource_type, resource_id)
  select u.tenant_id, 'user.password_changed', 'user', u.id::text
  from unnest($1::bigint[]) with ordinality as wanted (id, place) join users u on u.id = wanted.id
  order by place`
const ANNOUNCE = `select pg_notify('wardkeep_changes', 'journal')`

/**
 * Starts a service with a bot, and links this many chats: 1, 2, 3 … Unlinked chats are limited to 10 messages a second.
 */
export async function openChats(
  environment: Environment,
  count: number,
  say: (what: string) => void,
): Promise<Chats> {
  const folder = environment.emptyFolder()
  const size = { tenants: Math.ceil(count / EACH), usersPerTenant: EACH + 1, entriesPerTenant: 0 }
  const placeOf = (chat: number) =>
    [Math.floor((chat - 1) / EACH), 1 + ((chat - 1) % EACH)] as const
  const userOf = (chat: number) => userId(size, ...placeOf(chat))
  const api = openBaseline(new URL('../baselines/bot-api.ts', import.meta.url))
  const ask = <W extends Question['what']>(question: Extract<Question, { what: W }>) =>
    api.ask<Answers[W]>(question)

  const empty = await startService(folder)
  await seed(ownerOf(folder), size, (what) => say(`seeding the clinics: ${what}`))
  // Restarts the service, because its cached data are older than the seeding.
  await empty.stop()
  const service = await startService(folder, {
    MESSENGER_BOT_TOKEN: '4711:of-the-bench',
    MESSENGER_API_URL: await ask({ what: 'open' }),
  })
  const database = new pg.Client(ownerOf(folder))
  await database.connect()
  let refused = 0

  async function taken(): Promise<Message[]> {
    const answer = await ask({ what: 'taken' })
    refused = answer.refused
    return answer.messages
  }

  async function link(chat: number, code: string): Promise<void> {
    const [clinic, user] = placeOf(chat)
    const { access_token } = await signIn(
      service.url,
      emailOf(clinic, user),
      PASSWORD,
      subdomainOf(clinic),
    )
    const response = await fetch(`${service.url}/api/messenger/link`, {
      method: 'POST',
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
    })
    if (!response.ok) throw new Error(`linking was answered ${response.status}`)
  }

  async function wait(isEnough: (messages: readonly Message[]) => boolean, patienceMs: number) {
    const all: Message[] = []
    let lastAt = sharedMs()
    while (!isEnough(all) && sharedMs() - lastAt < patienceMs) {
      await delay(LOOK_MS)
      const more = await taken()
      if (more.length > 0) lastAt = sharedMs()
      all.push(...more)
    }
    return all
  }

  async function linkAll(): Promise<void> {
    await ask({ what: 'start', chats: Array.from({ length: count }, (_, chat) => chat + 1) })
    const linking: Promise<void>[] = []
    let [seen, linked] = [0, 0]
    await wait((messages) => {
      for (const { chat, text } of messages.slice(seen)) {
        const code = /code: (\S+)/.exec(text)?.[1]
        if (code) linking.push(link(chat, code))
        else linked += 1
      }
      seen = messages.length
      return linked === count
    }, PATIENCE_MS)
    await Promise.all(linking)
    if (linked < count) throw new Error(`of ${count} chats ${linked} were linked`)
    say(`${count} chats are linked`)
  }
  const chats: Chats = {
    async happen(some) {
      await database.query({ name: 'events', text: EVENTS, values: [some.map(userOf)] })
      const committedAt = sharedMs()
      await database.query({ name: 'announce', text: ANNOUNCE })
      return committedAt
    },
    wait: (isEnough, patienceMs = PATIENCE_MS) => wait(isEnough, patienceMs),
    fail: async (some, as) => void (await ask({ what: 'fail', chats: [...some], as })),
    refused: () => refused,
    async close() {
      api.stop()
      await database.end()
      await service.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    await linkAll()
    return chats
  } catch (error) {
    await chats.close()
    throw error
  }
}
