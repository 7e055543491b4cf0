/**
 * Messages of the messenger, with a Bot API that enforces the provider's limits. Measures the time from commit to
 * arrival, the rate to many chats, and the effect of failing chats on the others.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Message } from '../baselines/bot-api.ts'
import { percentile } from '../measure/statistics.ts'
import { type Line, perSecond } from '../measure/table.ts'
import { type Chats, openChats } from './chats.ts'
import type { Scenario } from './scenario.ts'

const CHATS = 3000
/** The number of single messages. They are sent at the interval below, without any other load. */
const ALONE = 50
const APART_MS = 100
/** The rate while a third of the chats fail: half of the bot's limit. */
const PER_SECOND = 15
/** The pause after a phase, after which all chats accept messages again. */
const REST_MS = 3_000

const range = (count: number) => Array.from({ length: count }, (_, chat) => chat + 1)
const limitLine = (name: string, ours: string, limit: string, ratio: number): Line => ({
  name,
  ours,
  limit,
  ratio,
  aim: { atMost: 1 },
})
const ms = (value: number) => `${value.toLocaleString('en-US', { maximumFractionDigits: 0 })} ms`

async function alone(chats: Chats, count: number): Promise<Line> {
  const times: number[] = []
  for (const chat of range(count)) {
    await delay(APART_MS)
    const committedAt = await chats.happen([chat])
    const [message] = await chats.wait((messages) => messages.length > 0)
    if (!message) throw new Error('a message has not come')
    times.push(message.at - committedAt)
  }
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
  const name = 'a message with nothing else under way, from commit to arrival'
  return limitLine(name, `p50 ${ms(p50)}, p99 ${ms(p99)}`, 'p50 100 ms', p50 / 100)
}

async function atOnce(chats: Chats, count: number): Promise<Line> {
  const committedAt = await chats.happen(range(count))
  const messages = await chats.wait((some) => some.length >= count)
  if (messages.length !== count) throw new Error(`of ${count} messages ${messages.length} came`)
  const rate = (count * 1000) / ((messages.at(-1) as Message).at - committedAt)
  return {
    name: `an event each for ${count.toLocaleString('en-US')} chats, messages`,
    ours: perSecond(rate),
    limit: '27/s',
    ratio: rate / 27,
    aim: { atLeast: 1 },
  }
}

/** Measures the other chats while a third stall or answer 429. */
async function failing(chats: Chats, count: number): Promise<Line> {
  const all = range(count)
  await chats.fail(
    all.filter((chat) => chat % 6 === 0),
    'stall',
  )
  await chats.fail(
    all.filter((chat) => chat % 6 === 3),
    'limit',
  )
  const committed = new Map<number, number>()
  const publish = async () => {
    for (const chat of all) {
      committed.set(chat, await chats.happen([chat]))
      await delay(1000 / PER_SECOND)
    }
  }
  const others = all.filter((chat) => chat % 3 !== 0).length
  const [messages] = await Promise.all([chats.wait((some) => some.length >= others), publish()])
  if (messages.length < others) throw new Error(`of ${others} messages ${messages.length} came`)
  const times = messages.map(({ chat, at }) => at - (committed.get(chat) ?? Number.NaN))
  const p99 = percentile(times, 0.99)
  const name = 'while a third of the chats stall or say 429, the others, from commit to arrival'
  const ours = `p50 ${ms(percentile(times, 0.5))}, p99 ${ms(p99)}`
  return limitLine(name, ours, 'p99 2,000 ms', p99 / 2000)
}

export const messenger: Scenario = async (environment, pace, say) => {
  const count = CHATS * pace.share
  const chats = await openChats(environment, count, say)
  try {
    const lines = [await alone(chats, Math.min(ALONE, count))]
    await delay(REST_MS)
    lines.push(await atOnce(chats, count))
    lines.push({
      name: 'messages that were more than the provider takes',
      ours: String(chats.refused()),
      limit: '0',
      ratio: chats.refused(),
      aim: { atMost: 0 },
    })
    await delay(REST_MS)
    lines.push(await failing(chats, count))
    return lines
  } finally {
    await chats.close()
  }
}

const EVENTS = 5000
const FLOOD_MS = 20_000
const BEATS = 200

/** Returns the number of events in a message: one for each line, and those of which only the number is given. */
function eventsIn({ text }: Message): number {
  const more = Number(/^and ([\d,]+) more: /m.exec(text)?.[1]?.replaceAll(',', '') ?? 0)
  return text.split('\n').filter((line) => !line.startsWith('and ')).length + more
}

export const messengerFlood: Scenario = async (environment, pace, say) => {
  const count = EVENTS * pace.share
  const chats = await openChats(environment, 1, say)
  try {
    const start = performance.now()
    let lastAt = 0
    const publish = async () => {
      let sent = 0
      for (let beat = 1; beat <= BEATS; beat += 1) {
        const due = Math.round((count * beat) / BEATS)
        if (due > sent) lastAt = await chats.happen(Array(due - sent).fill(1))
        sent = due
        await delay(Math.max(0, (FLOOD_MS * beat) / BEATS - (performance.now() - start)))
      }
    }
    const told = (messages: readonly Message[]) =>
      messages.reduce((sum, message) => sum + eventsIn(message), 0)
    const [messages] = await Promise.all([chats.wait((some) => told(some) >= count), publish()])
    if (told(messages) !== count) throw new Error(`of ${count} events ${told(messages)} were told`)
    const seconds = ((messages.at(-1) as Message).at - lastAt) / 1000
    const name = `${count.toLocaleString('en-US')} events for one chat within 20 s`
    return [
      limitLine(`${name}, messages`, String(messages.length), '10', messages.length / 10),
      limitLine(
        `${name}, all told after the last`,
        `${seconds.toFixed(1)} s`,
        '35 s',
        seconds / 35,
      ),
    ]
  } finally {
    await chats.close()
  }
}
