/** The receivers of webhooks: a separate process that reports the messages it received. */
import { openBaseline } from '../baselines/baseline.ts'
import type { Answers, Question, Sample } from '../baselines/receiver.ts'
import type { Published } from './publisher.ts'

export interface Receivers {
  urls: string[]
  /** Returns the first message, without the headers that belong to its connection. */
  sample(): Promise<Sample>
  /**
   * Waits until `more` messages have arrived since the last wait. Returns when the last one arrived (`sharedMs`).
   * @throws Error when some do not arrive
   */
  wait(more: number): Promise<number>
  /** Asks every receiver for every event of its tenant. */
  find(events: readonly Published[], owners: readonly number[]): Promise<Found>
  stop(): void
}

export interface Found {
  lost: number
  /** The number of repeated messages. */
  repeated: number
  /** The milliseconds from commit to arrival of each message that arrived. */
  ms: number[]
}

/** Longer than the wait before a retry of a delivery. */
const PATIENCE_MS = 15_000
const OF_CONNECTIONS = ['connection', 'content-length', 'host', 'webhook-id']

export async function openReceivers(servers: number): Promise<Receivers> {
  const baseline = openBaseline(new URL('../baselines/receiver.ts', import.meta.url))
  const ask = <W extends Question['what']>(question: Extract<Question, { what: W }>) =>
    baseline.ask<Answers[W]>(question)
  const addresses = await ask({ what: 'open', servers })
  let sent = 0

  return {
    urls: addresses.map((address) => `${address}/hooks/wardkeep`),
    async sample() {
      const { headers, body } = await ask({ what: 'sample' })
      const own = Object.entries(headers).filter(([name]) => !OF_CONNECTIONS.includes(name))
      return { headers: Object.fromEntries(own), body }
    },
    async wait(more) {
      sent += more
      const { messages, lastAt } = await ask({
        what: 'wait',
        messages: sent,
        patienceMs: PATIENCE_MS,
      })
      if (messages < sent) throw new Error(`${sent - messages} deliveries have not come`)
      return lastAt
    },
    async find(events, owners) {
      const total: Found = { lost: 0, repeated: 0, ms: [] }
      for (const [server, owner] of owners.entries()) {
        const own = events.filter(({ tenantId }) => tenantId === owner)
        const ids = own.map(({ id }) => id)
        const { arrivedAt, repeated } = await ask({ what: 'find', server, ids })
        total.repeated += repeated
        for (const [index, { committedAt }] of own.entries()) {
          const at = arrivedAt[index] ?? null
          if (at === null) total.lost += 1
          else total.ms.push(at - committedAt)
        }
      }
      return total
    },
    stop: baseline.stop,
  }
}
