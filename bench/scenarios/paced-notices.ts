/**
 * Payment notifications at a fixed rate. Measures the time until each response, and from the response to the journal
 * entry.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { Agent, request } from 'undici'
import { CONNECTIONS } from './scenario.ts'

export interface Paced {
  url: string
  database: pg.ClientConfig
  /** Creates a signed notification of a new payment, whose id appears in the journal entry. */
  make(): { id: string; body: string; signature: string }
  /** The notifications per second. */
  rate: number
  seconds: number
}

/** The interval of polls of the journal, which limits the precision of the times. */
const LOOK_MS = 5
const PATIENCE_MS = 60_000
/** The maximum number of entries that open transactions may still commit, because ids are not in commit order. */
const BEHIND = 400

/**
 * Sends at the rate, however long the responses take.
 * @returns milliseconds from when each was due until its 200, and from its 200 until its entry was visible
 */
export async function paced({ url, database, make, rate, seconds }: Paced) {
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  const client = new pg.Client(database)
  await client.connect()
  const answeredAt = new Map<string, number>()
  const seenAt = new Map<string, number>()
  const answered: number[] = []
  const total = Math.max(1, Math.round(rate * seconds))

  async function send(dueAt: number): Promise<void> {
    const { id, body, signature } = make()
    const { statusCode, body: answer } = await request(`${url}/webhooks/cardnet`, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'cardnet-signature': signature },
      body,
    })
    await answer.dump()
    if (statusCode !== 200) throw new Error(`a notice was answered ${statusCode}`)
    const now = performance.now()
    answered.push(now - dueAt)
    answeredAt.set(id, now)
  }

  async function follow(): Promise<void> {
    const last = 'select coalesce(max(id), 0) as id from journal'
    let after = (await client.query(last)).rows[0].id as string
    const end = performance.now() + seconds * 1000 + PATIENCE_MS
    while (seenAt.size < total) {
      const { rows } = await client.query<{ id: string; payment: string }>({
        name: 'entries',
        text: `select id, changes -> 'after' ->> 'provider_payment_id' as payment from journal
          where id > $1 and action = 'payment.succeeded' order by id`,
        values: [after],
      })
      const now = performance.now()
      for (const { payment } of rows) if (!seenAt.has(payment)) seenAt.set(payment, now)
      const newest = Number(rows.at(-1)?.id ?? after)
      after = String(Math.max(Number(after), newest - BEHIND))
      if (now > end) throw new Error(`${total - seenAt.size} notices have no entry`)
      await delay(LOOK_MS)
    }
  }

  try {
    const following = follow()
    const start = performance.now()
    const sending: Promise<void>[] = []
    for (let index = 0; index < total; index += 1) {
      const dueAt = start + (index / rate) * 1000
      if (dueAt > performance.now()) await delay(dueAt - performance.now())
      sending.push(send(dueAt))
    }
    await Promise.all(sending)
    await following
    const told = [...answeredAt].map(([id, at]) => Math.max(0, (seenAt.get(id) ?? Infinity) - at))
    return { answered, told }
  } finally {
    await client.end()
    await agent.close()
  }
}
